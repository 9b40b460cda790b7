// What a Chakra trace file holds, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include <iosfwd>
#include <string>

#include "nadi/base/json.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline traces {
struct TraceSummary;
}  // namespace nadi::inline traces

namespace nadi::inline show {

struct TraceTextOptions {
  ReportStyle style = {};
  std::string more = {};  // where the groups are that are not shown; printed after "... and 12 more"
};

Json trace_json(const TraceSummary& summary);
void print_trace(const TraceSummary& summary, std::ostream& out, const TraceTextOptions& options = {});

}  // namespace nadi::inline show
