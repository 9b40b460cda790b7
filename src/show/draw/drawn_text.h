// Texts from traces, made fit for a picture or a file: names are whatever somebody gave them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

// Valid UTF-8 without control characters, which become visible ("\n", "\x1b"), as do bytes that are not UTF-8
// and characters that change the direction of text.
std::string visible_text(std::string_view text);

// What a node is called in a picture: two or three short lines. "matmul" / "h.3.attn.c_attn" / "17.7 MFLOP".
struct NodeLabel {
  std::string title = {};
  std::string place = {};    // "" where there is none
  std::string figures = {};  // ""
};
NodeLabel label_of(const GraphNode& node);

}  // namespace nadi::inline show
