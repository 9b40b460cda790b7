#include "nadi/cli/html_flag.h"

#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {

void add_html_flag(Flags& flags, std::string_view group, std::string help) {
  FlagHeading(flags, group).value("--html", "FILE.html", std::move(help), "none");
}

std::optional<std::filesystem::path> html_path(const Flags& flags) {
  const auto page = flags.text("--html");
  if (!page) return std::nullopt;
  if (!page->ends_with(".html"))
    throw usage_error(format("--html writes a page, and '{}' does not end in .html", *page));
  if (html_overwrite(flags) == Overwrite::kRefuse) refuse_existing(*page);
  return *page;
}

Overwrite html_overwrite(const Flags& flags) {
  return flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
}

}  // namespace nadi::inline show
