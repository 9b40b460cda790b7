#include "nadi/sim/measured_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "nadi/analysis/timeline.h"
#include "nadi/base/error.h"
#include "nadi/sim/trace_work.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline predict {
namespace {

bool communicates(NodeType type) {
  return type == NodeType::kCommColl || type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

std::optional<std::int64_t> number_attribute(const Trace& trace, std::size_t row, std::string_view name) {
  const auto attribute = trace.find_attribute(row, name);
  return attribute ? attribute->integer() : std::nullopt;
}

// The kind of op, where the trace says it; else the node's name.
std::string kind_of_node(const Trace& trace, std::size_t row) {
  if (const auto attribute = trace.find_attribute(row, "op"))
    if (attribute->kind == TraceAttributeKind::kString) return std::string(attribute->text);
  return std::string(trace.name(row));
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Steps of the trace and how long each took.
void measure_steps(const Trace& trace, const std::set<std::int64_t>& left_out, ComparedRank& compared) {
  std::map<std::int64_t, std::pair<Nanoseconds, Nanoseconds>> spans;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (trace.duration(row) <= Nanoseconds{}) continue;
    const std::int64_t step = number_attribute(trace, row, "step").value_or(0);
    if (left_out.contains(step)) continue;
    const Nanoseconds start = trace.start(row), end = start + trace.duration(row);
    const auto [entry, fresh] = spans.try_emplace(step, start, end);
    if (fresh) continue;
    entry->second.first = std::min(entry->second.first, start);
    entry->second.second = std::max(entry->second.second, end);
  }
  if (spans.empty()) return;
  Nanoseconds sum{};
  for (const auto& [step, span] : spans) sum += span.second - span.first;
  compared.steps = static_cast<std::int64_t>(spans.size());
  compared.measured_step = Nanoseconds{sum.count() / compared.steps};
}

}  // namespace

ComparedRank compare_rank(const Trace& trace, std::int64_t rank, std::span<const NodeTime> predicted,
                          const std::set<std::int64_t>& left_out) {
  check(predicted.size() == trace.size(), "a predicted time for each node");
  ComparedRank compared{.rank = rank};
  measure_steps(trace, left_out, compared);
  const TraceDependencies dependencies(trace);
  const Timeline timeline(trace, dependencies);
  TraceWorks works(timeline);
  std::map<std::pair<std::int64_t, std::uint32_t>, std::int64_t> occurrences;  // by step and name
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const NodeType type = trace.type(row);
    if (type != NodeType::kComp && !communicates(type)) continue;
    const auto number = static_cast<std::uint32_t>(row);
    if (!is_device(timeline.activity(number))) continue;
    const std::int64_t step = number_attribute(trace, row, "step").value_or(0);
    if (left_out.contains(step)) continue;
    const Nanoseconds lasts = predicted[row].end - predicted[row].start;
    if (trace.duration(row) <= Nanoseconds{}) {
      ++compared.without_time;
      continue;
    }
    if (!communicates(type) && works.of(number) == nullptr) {
      ++compared.without_work;
      continue;
    }
    compared.nodes.push_back({.row = row,
                              .rank = rank,
                              .occurrence = occurrences[{step, trace.name_number(row)}]++,
                              .kind = kind_of_node(trace, row),
                              .name = std::string(trace.name(row)),
                              .communicates = communicates(type),
                              .measured = trace.duration(row),
                              .predicted = lasts,
                              .start = trace.start(row),
                              .predicted_start = predicted[row].start});
  }
  return compared;
}

ComparisonResult summarize_comparison(std::span<const ComparedRank> ranks, std::size_t offenders) {
  // One op of a rank, in all steps.
  struct OpTimes {
    std::vector<double> measured, predicted;
    double error() const { return std::abs(middle_of(predicted) / std::max(1.0, middle_of(measured)) - 1); }
  };
  struct Sums {
    ComparedKind kind;
    std::map<std::tuple<std::int64_t, std::string, std::int64_t>, OpTimes> ops;  // by rank, name, occurrence
  };
  std::map<std::string, Sums> kinds;
  ComparisonResult result;
  std::vector<double> errors;
  std::int64_t rank_steps = 0;
  for (const ComparedRank& rank : ranks) {
    rank_steps += rank.steps;
    result.without_time += rank.without_time;
    result.without_work += rank.without_work;
    result.measured_iteration = std::max(result.measured_iteration, rank.measured_step);
    for (const ComparedNode& node : rank.nodes) {
      Sums& sums = kinds[node.kind];
      sums.kind.kind = node.kind;
      sums.kind.communicates = node.communicates;
      ++sums.kind.count;
      sums.kind.measured += node.measured;
      sums.kind.predicted += node.predicted;
      OpTimes& op = sums.ops[{node.rank, node.name, node.occurrence}];
      op.measured.push_back(static_cast<double>(node.measured.count()));
      op.predicted.push_back(static_cast<double>(node.predicted.count()));
      if (node.communicates) continue;
      ++result.nodes;
      result.computed_measured += node.measured;
      result.computed_predicted += node.predicted;
      result.offenders.push_back(node);
    }
  }
  const auto per_step = [&](Nanoseconds sum) {
    return Nanoseconds{sum.count() / std::max<std::int64_t>(1, rank_steps)};
  };
  result.computed_measured = per_step(result.computed_measured);
  result.computed_predicted = per_step(result.computed_predicted);
  for (auto& [name, sums] : kinds) {
    sums.kind.measured = per_step(sums.kind.measured);
    sums.kind.predicted = per_step(sums.kind.predicted);
    std::vector<double> own;
    for (const auto& [key, op] : sums.ops) own.push_back(op.error());
    if (!sums.kind.communicates) errors.insert(errors.end(), own.begin(), own.end());
    sums.kind.median_error = middle_of(std::move(own));
    result.kinds.push_back(std::move(sums.kind));
  }
  result.median_error = middle_of(std::move(errors));
  std::stable_sort(result.kinds.begin(), result.kinds.end(),
                   [](const ComparedKind& a, const ComparedKind& b) { return a.measured > b.measured; });
  const auto difference = [](const ComparedNode& node) {
    return std::abs((node.predicted - node.measured).count());
  };
  std::stable_sort(
      result.offenders.begin(), result.offenders.end(),
      [&](const ComparedNode& a, const ComparedNode& b) { return difference(a) > difference(b); });
  if (result.offenders.size() > offenders) result.offenders.resize(offenders);
  return result;
}

}  // namespace nadi::inline predict
