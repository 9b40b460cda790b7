#include "nadi/tables/report_style.h"

#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {

std::string ReportStyle::heading(std::string_view text) const {
  return colour ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

ReportStyle style_for(const Console& console) {
  return {.colour = console.colour_out,
          .width = output_width(console.out),
          .table_width = table_width(console.out)};
}

}  // namespace nadi::inline show
