#include "nadi/check/structure_check.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "nadi/base/cycle_text.h"
#include "nadi/base/format.h"
#include "nadi/check/common_attribute_reader.h"
#include "nadi/check/dependency_cycles.h"
#include "nadi/check/rules.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

// The end of a node that has times which can be added.
std::optional<Nanoseconds> end_of(const Trace& trace, std::size_t row) {
  std::int64_t end = 0;
  const std::int64_t start = trace.start(row).count();
  const std::int64_t duration = trace.duration(row).count();
  if (start < 0 || duration < 0 || __builtin_add_overflow(start, duration, &end)) return std::nullopt;
  return Nanoseconds{end};
}

bool has_times(const Trace& trace, std::size_t row) {
  return trace.start(row) != Nanoseconds{} || trace.duration(row) != Nanoseconds{};
}

// Nodes that share a property: their number, and the first one.
struct Tally {
  std::uint64_t count = 0;
  std::size_t first = 0;

  void add(std::size_t row) {
    if (count++ == 0) first = row;
  }
};

class StructureCheck {
 public:
  StructureCheck(const CheckedTrace& checked, Findings& findings, bool strict)
      : strict_(strict),
        checked_(checked),
        trace_(*checked.trace),
        findings_(findings),
        index_(trace_),
        waited_for_(trace_.size()) {
    inclusive_ = trace_.text_number("inclusive_ns");
    const TraceAttribute* durations = trace_.metadata.attributes.find("host_durations");
    host_is_exclusive_ = durations != nullptr && durations->string() == "exclusive";
  }

  StructureFacts run() {
    check_ids();
    for (std::uint32_t row = 0; row < trace_.size() && !has_starts_; ++row)
      has_starts_ = trace_.start(row) != Nanoseconds{};
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      check_times(row);
      check_dependencies(row, trace_.ctrl_deps(row), "control");
      check_dependencies(row, trace_.data_deps(row), "data");
    }
    check_cycles();
    report_early_starts();
    report_nodes();
    return facts_;
  }

 private:
  void check_ids() {
    if (!index_.duplicate()) return;
    std::vector<std::uint32_t> rows(trace_.size());
    std::iota(rows.begin(), rows.end(), 0U);
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return trace_.id(row); });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // later row, first row with its id
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (trace_.id(rows[i]) != trace_.id(rows[i - 1])) continue;
      const bool third = !pairs.empty() && pairs.back().first == rows[i - 1];
      pairs.emplace_back(rows[i], third ? pairs.back().second : rows[i - 1]);
    }
    std::ranges::sort(pairs);
    facts_.duplicate = pairs.front().first;
    for (const auto& [row, first] : pairs)
      if (findings_.count(rule::kDuplicateId))
        findings_.keep(finding_at(checked_, rule::kDuplicateId, row,
                                  format("its id is that of {} already", describe_node(trace_, first))));
  }

  void check_times(std::uint32_t row) {
    if (trace_.start(row).count() < 0 || trace_.duration(row).count() < 0) {
      if (findings_.count(rule::kNegativeTime))
        findings_.keep(finding_at(checked_, rule::kNegativeTime, row,
                                  format("starts at {} ns and lasts {} ns", trace_.start(row).count(),
                                         trace_.duration(row).count())));
    } else if (!end_of(trace_, row) && findings_.count(rule::kTimeOverflow)) {
      findings_.keep(finding_at(checked_, rule::kTimeOverflow, row,
                                format("starts at {} ns and lasts {} ns", trace_.start(row).count(),
                                       trace_.duration(row).count())));
    }
  }

  void check_dependencies(std::uint32_t row, std::span<const TraceNodeId> ids, std::string_view kind) {
    const bool is_data = kind == "data";
    facts_.edges += ids.size();
    for (const TraceNodeId id : ids) {
      const std::optional<std::uint32_t> parent = index_.row_of(id);
      if (!parent) {
        (is_data ? facts_.missing_data : facts_.missing_control)++;
        std::optional<std::uint32_t>& first =
            is_data ? facts_.first_missing_data : facts_.first_missing_control;
        if (!first) first = row;
        const Rule& missing = strict_ ? rule::kMissingDependency : rule::kDroppedDependency;
        if (findings_.count(missing))
          findings_.keep(finding_at(
              checked_, missing, row,
              format("has a {} dependency on node {}, which is not in the file", kind, to_number(id))));
      } else if (*parent == row) {
        if (!facts_.cycle) facts_.cycle = row;
        if (is_data && !facts_.data_cycle) facts_.data_cycle = row;
        if (findings_.count(rule::kSelfDependency))
          findings_.keep(finding_at(checked_, rule::kSelfDependency, row,
                                    format("has a {} dependency on itself", kind)));
      } else {
        waited_for_[*parent] = true;
        check_start(row, *parent);
      }
    }
  }

  // How long a host op lasted with all that it contains and waited for.
  std::optional<std::int64_t> inclusive_of(std::uint32_t row) const {
    if (!inclusive_) return std::nullopt;
    const std::optional<TraceAttribute> inclusive = trace_.find_attribute(row, *inclusive_);
    return inclusive ? inclusive->integer() : std::nullopt;
  }

  // A host op that contains others lasts, as a node, only as long as it ran itself; what it contains starts
  // while it is running.
  bool contains(std::uint32_t outer, std::uint32_t inner) const {
    const std::optional<std::int64_t> lasts = inclusive_of(outer);
    const std::int64_t offset = trace_.start(inner).count() - trace_.start(outer).count();
    return lasts && offset >= 0 && offset <= *lasts;
  }

  // A call that synchronises waits first: its own time is the end of all that it lasted.
  bool waits_within(std::uint32_t row, Nanoseconds end) const {
    const std::optional<std::int64_t> lasts = inclusive_of(row);
    return lasts && end.count() - trace_.start(row).count() <= *lasts - trace_.duration(row).count();
  }

  bool is_of_host(std::uint32_t row) const {
    const std::optional<TraceAttribute> on_cpu = trace_.find_attribute(row, attribute_name::kIsCpuOp);
    return on_cpu && on_cpu->integer().value_or(0) != 0;
  }

  void check_start(std::uint32_t row, std::uint32_t parent) {
    if (!has_starts_ || !has_times(trace_, row) || !has_times(trace_, parent)) return;
    const std::optional<Nanoseconds> end = end_of(trace_, parent);
    if (!end || trace_.start(row) >= *end || contains(parent, row) || waits_within(row, *end)) return;
    // Without what each op of the host contains, only the device's times can be compared.
    if (host_is_exclusive_ && (is_of_host(row) || is_of_host(parent))) return;
    early_.add(row);
    const Nanoseconds by = *end - trace_.start(row);
    if (by <= worst_early_by_) return;
    worst_early_by_ = by;
    worst_early_ = row;
    worst_early_parent_ = parent;
  }

  void check_cycles() {
    const std::vector<DependencyCycle> cycles =
        find_cycles(trace_, index_, FollowedDependencies::kControlAndData);
    for (const DependencyCycle& cycle : cycles) {
      if (!facts_.cycle) facts_.cycle = cycle.rows.front();
      if (!findings_.count(rule::kCycle)) continue;
      std::string path = cycle_text(
          cycle.rows.size(), [&](std::size_t i) { return describe_node(trace_, cycle.rows[i]); },
          format("node {}", to_number(trace_.id(cycle.rows.front()))));
      if (cycle.knot > cycle.rows.size()) path += format("; {} nodes wait for each other in all", cycle.knot);
      findings_.keep(
          finding_at(checked_, rule::kCycle, cycle.rows.front(), "waits for itself through others: " + path));
    }
    if (cycles.empty() || facts_.data_cycle) return;
    const std::vector<DependencyCycle> data = find_cycles(trace_, index_, FollowedDependencies::kData);
    if (!data.empty()) facts_.data_cycle = data.front().rows.front();
  }

  void report(const Rule& rule, const Tally& tally, std::string message) {
    if (tally.count == 0 || !findings_.count(rule)) return;
    Finding finding = finding_at(checked_, rule, tally.first, std::move(message));
    finding.count = tally.count;
    findings_.keep(std::move(finding));
  }

  void report_early_starts() {
    if (early_.count == 0) return;
    early_.first = worst_early_;
    report(rule::kStartsTooEarly, early_,
           format("{} dependenc{} not waited for; at worst, it starts {} before {} has ended", early_.count,
                  early_.count == 1 ? "y was" : "ies were", to_string(worst_early_by_),
                  describe_node(trace_, worst_early_parent_)));
  }

  void report_nodes() {
    const CommonAttributeReader reader(trace_);
    CommonAttributes attributes;
    Tally invalid, orphans, without_times, without_work;
    bool any_tensors = false;
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      const NodeType type = trace_.type(row);
      if (type == NodeType::kInvalid) invalid.add(row);
      if (!waited_for_[row] && trace_.ctrl_deps(row).empty() && trace_.data_deps(row).empty())
        orphans.add(row);
      if (!has_times(trace_, row)) without_times.add(row);
      if (type == NodeType::kComp && trace_.duration(row) == Nanoseconds{}) {
        reader.read(row, attributes);
        if (!attributes.has(CommonAttribute::kNumOps)) without_work.add(row);
      }
      any_tensors = any_tensors || !trace_.inputs(row).empty() || !trace_.outputs(row).empty();
    }
    const auto of_all = [&](const Tally& tally) {
      return format("{} of {} nodes", tally.count, trace_.size());
    };
    report(rule::kInvalidType, invalid, of_all(invalid) + " have no type; the first is this one");
    if (trace_.size() > 1)
      report(rule::kOrphan, orphans,
             of_all(orphans) + " wait for nothing, and nothing waits for them; the first is this one");
    report(rule::kNoTimes, without_times, of_all(without_times) + " have neither start nor duration");
    report(rule::kNoWork, without_work,
           of_all(without_work) + " compute and have neither a duration nor num_ops; the first is this one");
    if (!any_tensors && trace_.size() > 0 && findings_.count(rule::kNoTensors))
      findings_.keep(
          finding_about(checked_, rule::kNoTensors, "no node says which tensors it reads and writes"));
  }

  const bool strict_;
  const CheckedTrace& checked_;
  const Trace& trace_;
  Findings& findings_;
  TraceIndex index_;
  std::vector<bool> waited_for_;
  std::optional<std::uint32_t> inclusive_;  // number of the attribute's name
  bool has_starts_ = false;                 // some writers give durations only
  bool host_is_exclusive_ = false;          // ops of the host last as long as they ran themselves
  Tally early_;
  Nanoseconds worst_early_by_;
  std::uint32_t worst_early_ = 0;
  std::uint32_t worst_early_parent_ = 0;
  StructureFacts facts_;
};

}  // namespace

StructureFacts check_structure(const CheckedTrace& checked, Findings& findings, bool strict) {
  return StructureCheck(checked, findings, strict).run();
}

}  // namespace nadi::inline traces
