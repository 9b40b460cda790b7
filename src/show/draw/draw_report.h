// What was drawn: text, notes and JSON of `nadi draw`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/draw/draw_files.h"

namespace nadi::inline show {

Json draw_json(const DrawSummary& summary);
void print_drawn(const DrawSummary& summary, std::ostream& out);

// What a drawing leaves out, and the flags that draw it.
std::vector<std::string> draw_notes(const DrawSummary& summary);

}  // namespace nadi::inline show
