#include "nadi/recording/execution_communication.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <utility>

#include "nadi/graph/collective_table.h"
#include "nadi/parallel/program.h"
#include "nadi/unroll/collective_type.h"

namespace nadi::inline traces {
namespace {

// Apart and in the order of time.
using Intervals = std::vector<std::pair<Nanoseconds, Nanoseconds>>;

Intervals merged(Intervals intervals) {
  std::ranges::sort(intervals);
  Intervals result;
  for (const auto& [start, end] : intervals) {
    if (result.empty() || start > result.back().second)
      result.emplace_back(start, end);
    else
      result.back().second = std::max(result.back().second, end);
  }
  return result;
}

Nanoseconds length(const Intervals& intervals) {
  Nanoseconds sum;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

// How long both lasted at once.
Nanoseconds overlap(const Intervals& a, const Intervals& b) {
  Nanoseconds sum;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Nanoseconds start = std::max(a[i].first, b[j].first);
    const Nanoseconds end = std::min(a[i].second, b[j].second);
    if (end > start) sum += end - start;
    a[i].second < b[j].second ? ++i : ++j;
  }
  return sum;
}

// Calls of one step that are counted together.
struct Collected {
  CommunicationFigures figures;
  Intervals intervals;

  void add(const CommunicationWork& work, const ExecutedKernel& call) {
    ++figures.calls;
    figures.bytes += work.bytes;
    figures.bus_bytes += Bytes{std::llround(static_cast<double>(work.bytes.count()) * work.bus_factor)};
    figures.time += call.end - call.start;
    intervals.emplace_back(call.start, call.end);
  }

  CommunicationFigures beside(const Intervals& computing) {
    intervals = merged(std::move(intervals));
    figures.under_way = length(intervals);
    figures.exposed = figures.under_way - overlap(intervals, computing);
    return figures;
  }
};

struct Key {
  GroupKind group;
  OpKind kind;
  Phase phase;
  auto operator<=>(const Key&) const = default;
};

bool is_gradient(const Key& key) {
  return key.group == GroupKind::kData && key.phase == Phase::kBackward;
}

}  // namespace

std::optional<CommunicationWork> communication_of(const CallOrigin& origin) {
  const Op& op = origin.op;
  const OpClass op_class = definition(op.kind).op_class;
  if (!is_communication(op_class)) return std::nullopt;
  CommunicationWork work{.group = group_named(op.attributes.text("group"))};
  if (op_class == OpClass::kCollective) work.members = op.attributes.integer("group_size");
  Bytes input, output;
  const auto add = [&](TensorId id, std::int64_t& elements, Bytes& bytes) {
    const Tensor& tensor = origin.graph.tensor(id);
    work.dtype = tensor.dtype;
    elements += tensor.shape.elements();
    bytes += tensor.size();
  };
  for (const TensorId id : op.inputs)
    if (id != kNoTensor) add(id, work.input_elements, input);
  for (const OpOutput& out : op.outputs) add(out.tensor, work.output_elements, output);
  if (op_class == OpClass::kPointToPoint)
    work.input_elements = work.output_elements = std::max(work.input_elements, work.output_elements);
  work.bytes = std::max(input, output);
  if (op_class == OpClass::kCollective) work.bus_factor = bus_factor(collective_type(op.kind), work.members);
  return work;
}

std::optional<double> algorithm_gb_per_second(Bytes bytes, Nanoseconds time) {
  if (time.count() <= 0) return std::nullopt;
  return static_cast<double>(bytes.count()) / static_cast<double>(time.count());
}

CommunicationFigures& CommunicationFigures::operator+=(const CommunicationFigures& other) {
  calls += other.calls;
  bytes += other.bytes;
  bus_bytes += other.bus_bytes;
  time += other.time;
  under_way += other.under_way;
  exposed += other.exposed;
  return *this;
}

CommunicationSummary summarize_communication(const Program& program, std::span<const ExecutedStep> steps) {
  CommunicationSummary summary;
  std::map<Key, CommunicationFigures> rows;
  for (const ExecutedStep& step : steps) {
    Intervals computing;
    std::map<Key, Collected> collected;
    Collected gradients, all;
    for (const ExecutedKernel& call : step.kernels) {
      const CallOrigin origin = origin_of(program, call);
      const std::optional<CommunicationWork> work = communication_of(origin);
      if (!work) {
        computing.emplace_back(call.start, call.end);
        continue;
      }
      const Key key{work->group, origin.op.kind, origin.op.phase};
      collected[key].add(*work, call);
      if (is_gradient(key)) gradients.add(*work, call);
      all.add(*work, call);
    }
    computing = merged(std::move(computing));
    for (auto& [key, calls] : collected) rows[key] += calls.beside(computing);
    summary.gradients += gradients.beside(computing);
    summary.total += all.beside(computing);
  }
  for (const auto& [key, figures] : rows) summary.rows.push_back({key.group, key.kind, key.phase, figures});
  return summary;
}

}  // namespace nadi::inline traces
