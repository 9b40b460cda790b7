// Bytes of a file for a terminal: what would move the cursor, colour what follows, ring or answer for the
// user is shown as \x1b and the like. Ends of lines, tabs and characters of UTF-8 stay as they are; "\r\n" is
// the end of a line.
//
//   std::string half;                                     // one for each file
//   out << escaped_text(first_block, half) << escaped_text(second_block, half);
#pragma once

#include <string>
#include <string_view>

namespace nadi::inline show {

// `half` has the beginning of a character that the last block ended in, and gets that of the next.
std::string escaped_text(std::string_view bytes, std::string& half);

}  // namespace nadi::inline show
