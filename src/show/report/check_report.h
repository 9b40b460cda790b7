// The findings of a check, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "nadi/base/file_kind.h"
#include "nadi/base/json.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline traces {
struct CheckReport;
}  // namespace nadi::inline traces

namespace nadi::inline show {

struct CheckTextOptions {
  ReportStyle style = {};
  std::string more = {};  // how to see findings that are not shown; printed after "12 more of <rule>"
  // What can be done with a file that is no trace; "" for nothing.
  std::function<std::string(FileKind kind)> hint_for = {};
};

Json check_json(const CheckReport& report);
void print_check(const CheckReport& report, std::ostream& out, const CheckTextOptions& options = {});

}  // namespace nadi::inline show
