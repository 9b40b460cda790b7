// How many columns a text may take on a stream.
#pragma once

#include <cstddef>
#include <iosfwd>

namespace nadi::inline show {

// Whether a person looks at what is written there. Open MPI gives its ranks terminals of their own and
// forwards what comes out of them, to files and programs as well: of a rank this is false.
bool is_terminal(int descriptor);

// For lines of text. Of an OutputStream and of std::cerr: the variable COLUMNS where it is set to a number,
// else the width of the terminal that it writes to, else 100; never below 40 and never above 200. Of any
// other stream what set_output_width() has said, else 100.
std::size_t output_width(const std::ostream& out);

// For tables: the same, but no limit where an OutputStream does not write to a terminal and COLUMNS is not
// set, so that files and pipes get every column.
std::size_t table_width(const std::ostream& out);
inline constexpr std::size_t kNoWidthLimit = static_cast<std::size_t>(-1) / 2;

// Says how wide a stream of any kind is: for tests, and for streams that stand for others.
void set_output_width(std::ostream& out, std::size_t width);

}  // namespace nadi::inline show
