// How a report is written onto a stream: with or without bold and coloured text, and in how many columns.
//
//   print_check(report, console.out, style_for(console));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nadi::inline show {

struct Console;

struct ReportStyle {
  bool colour = false;
  std::size_t width = 100;        // of text, in characters
  std::size_t table_width = 100;  // of tables: without a limit in files and pipes

  std::string heading(std::string_view text) const;  // bold where there is colour
};

// For what is printed on console.out.
ReportStyle style_for(const Console& console);

}  // namespace nadi::inline show
