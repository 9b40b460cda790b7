// An Error that points into a text file: line, column, and the line itself with carets below the mistake.
//
//   throw error_in_text({.file = "cluster.json", .text = text, .begin = 301, .end = 309},
//                       "unknown link type 'nvlnk4'", "did you mean 'nvlink4'?");
//
//   error: cluster.json:14:13: unknown link type 'nvlnk4'
//      14 |     "type": "nvlnk4"
//         |             ^^^^^^^^
//     hint: did you mean 'nvlink4'?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nadi/base/error.h"

namespace nadi::inline ground {

// Bytes [begin, end) of `text`, the whole contents of `file`. begin may equal text.size(): the end of the
// file.
struct TextRange {
  std::string file;
  std::string_view text;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Columns count characters (UTF-8 code points), not bytes. Carets stop at the end of the first line. Of a
// long line the part around the mistake is shown. Control characters and invalid UTF-8 are shown as U+FFFD,
// so that a hostile file cannot talk to the terminal. The excerpt has no newline at its end.
Error error_in_text(const TextRange& range, std::string message, std::string hint = "");

}  // namespace nadi::inline ground
