#include "nadi/check/checked_trace.h"

#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

std::string describe_node(const Trace& trace, std::size_t row) {
  return format("node {} {}", to_number(trace.id(row)), quote_for_message(trace.name(row)));
}

Finding finding_about(const CheckedTrace& checked, const Rule& rule, std::string message) {
  Finding finding;
  finding.rule = &rule;
  finding.file = checked.file;
  finding.rank = checked.rank;
  finding.message = std::move(message);
  return finding;
}

Finding finding_at(const CheckedTrace& checked, const Rule& rule, std::size_t row, std::string message) {
  Finding finding = finding_about(checked, rule, std::move(message));
  finding.node = checked.trace->id(row);
  finding.node_name = std::string(checked.trace->name(row));
  return finding;
}

}  // namespace nadi::inline traces
