#include "nadi/check/finding.h"

#include "nadi/base/error.h"

namespace nadi::inline traces {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  unreachable();
}

bool Findings::count(const Rule& rule) {
  RuleCount& entry = by_rule_[rule.id];
  entry.rule = &rule;
  return ++entry.findings <= kept_per_rule_;
}

std::uint64_t Findings::total(Severity severity) const {
  std::uint64_t total = 0;
  for (const auto& [id, entry] : by_rule_)
    if (entry.rule->severity == severity) total += entry.findings;
  return total;
}

}  // namespace nadi::inline traces
