#include "nadi/calibrate/op_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/parallel/program.h"

namespace nadi::inline runs {
namespace {

double nanoseconds_of(const ExecutedKernel& kernel) {
  return static_cast<double>((kernel.end - kernel.start).count());
}

// How the time of a kernel is divided among its ops: see measured_ops.h.
std::vector<double> shares_of(std::span<const MeasuredOp> ops) {
  std::vector<double> shares(ops.size(), 0.0);
  const bool alike =
      std::all_of(ops.begin(), ops.end(), [&](const MeasuredOp& op) { return op.kind == ops[0].kind; });
  double bytes = 0;
  for (const MeasuredOp& op : ops) bytes += static_cast<double>((op.read + op.written).count());
  if (!alike || bytes == 0) {
    shares[0] = 1;
    return shares;
  }
  for (std::size_t i = 0; i < ops.size(); ++i)
    shares[i] = static_cast<double>((ops[i].read + ops[i].written).count()) / bytes;
  return shares;
}

// What a step takes besides its kernels. Of a GPU what lies before the first of them and behind the last is
// the host's, which steps that follow one another hide.
double between_kernels_of(const ExecutedStep& step) {
  double gaps = 0;
  if (step.device.is_host()) {
    gaps = static_cast<double>((step.end - step.start).count());
    for (const ExecutedKernel& kernel : step.kernels) gaps -= nanoseconds_of(kernel);
    return std::max(0.0, gaps);
  }
  Nanoseconds until = step.kernels.front().start;
  for (const ExecutedKernel& kernel : step.kernels) {
    if (kernel.start > until) gaps += static_cast<double>((kernel.start - until).count());
    until = std::max(until, kernel.end);
  }
  return gaps;
}

// Its type is that of its products, where it has any.
MeasuredOp whole_kernel(std::span<const MeasuredOp> ops, double nanoseconds) {
  MeasuredOp whole{.kind = ops[0].kind, .dtype = ops[0].dtype};
  for (const MeasuredOp& op : ops) {
    if (op.matrix > Flops{} && whole.matrix == Flops{}) whole.dtype = op.dtype;
    whole.matrix += op.matrix;
    whole.vector += op.vector;
  }
  if (ops.size() == 1) {
    whole.read = ops[0].read;
    whole.written = ops[0].written;
  }
  whole.time = Nanoseconds{std::llround(nanoseconds)};
  return whole;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> kernel_medians(std::span<const ExecutedStep> steps) {
  std::vector<double> medians, times;
  if (steps.empty()) return medians;
  for (const ExecutedStep& step : steps)
    check(step.kernels.size() == steps.front().kernels.size(), "runs of one program have the same kernels");
  for (std::size_t k = 0; k < steps.front().kernels.size(); ++k) {
    times.clear();
    for (const ExecutedStep& step : steps) times.push_back(nanoseconds_of(step.kernels[k]));
    medians.push_back(median_of(times));
  }
  return medians;
}

void OpSamples::add(const MeasuredOp& row, double nanoseconds, double weight) {
  Sum& sum = sums_[row];
  sum.nanoseconds += weight * nanoseconds;
  sum.weight += weight;
}

void OpSamples::add(const Program& program, std::span<const ExecutedStep> steps,
                    std::optional<Nanoseconds> sustained, double inner_weight) {
  if (steps.empty() || steps.front().kernels.empty()) return;
  const ExecutedStep& first = steps.front();
  const std::vector<double> medians = kernel_medians(steps);
  std::vector<double> gaps;
  for (const ExecutedStep& step : steps) gaps.push_back(between_kernels_of(step));
  for (const double gap : gaps) gaps_.push_back(gap / static_cast<double>(first.kernels.size()));
  const double between = median_of(gaps) / static_cast<double>(first.kernels.size());
  double stretch = 1;
  if (const double busy = std::accumulate(medians.begin(), medians.end(), 0.0); sustained && busy > 0)
    stretch = std::max(0.0, static_cast<double>(sustained->count()) - median_of(gaps)) / busy;
  std::int32_t last_block = -1;
  for (const Graph& graph : program.graphs)
    for (const Op& op : graph.ops()) last_block = std::max(last_block, op.block);
  std::vector<MeasuredOp> ops;
  for (std::size_t k = 0; k < first.kernels.size(); ++k) {
    const ExecutedKernel& kernel = first.kernels[k];
    ops.clear();
    for (std::uint32_t i = 0; i < kernel.ops(); ++i) {
      const CallOrigin origin = origin_of(program, kernel.instruction, first.op(kernel, i));
      ops.push_back(op_to_measure(origin.graph, origin.op, origin.instruction.context));
    }
    const Op& op = origin_of(program, kernel).op;
    if (meets_others(op)) continue;
    const double weight = op.block > 0 && op.block < last_block ? inner_weight : 1;
    const double time = medians[k] * stretch + between;
    const std::vector<double> shares = shares_of(ops);
    for (std::size_t i = 0; i < ops.size(); ++i) add(ops[i], time * shares[i], weight);
    kernels_.push_back(whole_kernel(ops, time));
  }
}

std::vector<MeasuredOp> OpSamples::rows() const {
  std::vector<MeasuredOp> rows;
  for (const auto& [row, sum] : sums_) {
    rows.push_back(row);
    rows.back().time = Nanoseconds{std::llround(sum.nanoseconds / sum.weight)};
  }
  return rows;
}

Nanoseconds OpSamples::between_kernels() const {
  return Nanoseconds{std::llround(median_of(gaps_))};
}

}  // namespace nadi::inline runs
