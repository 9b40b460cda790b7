// How many columns tables may take.
#pragma once

#include <cstddef>
#include <iosfwd>

namespace nadi {

// Of an OutputStream and of std::cerr: the variable COLUMNS where it is set to a number, else the width of
// the terminal that it writes to, else 100; never below 40 and never above 200. Of any other stream 100.
std::size_t output_width(const std::ostream& out);

}  // namespace nadi
