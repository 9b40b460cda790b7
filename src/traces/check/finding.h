// The findings of a check: violations of rules, counted per rule.
//
//   Findings findings(/*kept_per_rule=*/10);
//   if (findings.count(rule::kSelfDependency))           // false once enough of them are kept
//     findings.keep({.rule = &rule::kSelfDependency, .file = file, .message = ...});
//
// All findings are counted; of each rule, the texts of the first ones are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

enum class Severity : std::uint8_t {
  kNote,     // worth knowing
  kWarning,  // the trace can be used, and may not say what was meant
  kError,    // the trace is wrong
};
std::string_view to_string(Severity severity);  // "note", "warning", "error"

// See rules.h.
struct Rule {
  std::string_view id;  // "duplicate-id"
  Severity severity = Severity::kError;
  std::string_view meaning;  // one line, for the list of rules
};

struct Finding {
  const Rule* rule = nullptr;
  std::string file = {};
  std::optional<std::int64_t> rank = {};
  std::optional<TraceNodeId> node = {};  // where it was found first
  std::string node_name = {};
  std::string message = {};
  std::uint64_t count = 1;  // how many nodes, dependencies or messages this stands for
};

class Findings {
 public:
  explicit Findings(std::size_t kept_per_rule) : kept_per_rule_(kept_per_rule) {}

  // Counts a finding of the rule. Whether the text of another one is wanted.
  bool count(const Rule& rule);
  void keep(Finding finding) { kept_.push_back(std::move(finding)); }

  // Kept findings, in the order in which they were made.
  const std::vector<Finding>& kept() const { return kept_; }

  struct RuleCount {
    const Rule* rule = nullptr;
    std::uint64_t findings = 0;
  };
  // Counts of each rule that was found, by its id.
  const std::map<std::string_view, RuleCount>& by_rule() const { return by_rule_; }
  std::uint64_t total(Severity severity) const;

 private:
  std::size_t kept_per_rule_;
  std::vector<Finding> kept_;
  std::map<std::string_view, RuleCount> by_rule_;
};

}  // namespace nadi::inline traces
