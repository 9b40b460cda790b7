#include "nadi/cli/wide_flag.h"

#include <optional>

#include "nadi/command_line/flags.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {

void add_wide_flag(Flags& flags) {
  flags.toggle("--wide", "show all columns, also beyond the width of the terminal");
}

void print_wide_or_not(const Flags& flags, Console& console,
                       const std::function<void(const ReportStyle&)>& print) {
  ReportStyle style = style_for(console);
  std::optional<Verbatim> verbatim;
  if (flags.given("--wide")) {
    style.table_width = kNoWidthLimit;
    verbatim.emplace(console.out);
  }
  print(style);
}

}  // namespace nadi::inline show
