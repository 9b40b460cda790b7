#include "nadi/reference/collective.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/graph/ops/expert_rows.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

using Inputs = std::span<const std::span<const double>>;

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return a + b;
    case ReduceOp::kMinimum:
      return std::min(a, b);
    case ReduceOp::kMaximum:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
  }
  unreachable();
}

// In the order of the members.
Doubles reduced(ReduceOp op, Inputs inputs) {
  Doubles result(inputs[0].begin(), inputs[0].end());
  for (const std::span<const double> input : inputs.subspan(1))
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = combine(op, result[i], input[i]);
  if (op == ReduceOp::kAverage)
    for (double& value : result) value /= static_cast<double>(inputs.size());
  return result;
}

// Part `part` of `parts` equal ones along an axis.
Doubles part_of(std::span<const double> x, const AxisView& axis, std::size_t parts, std::size_t part) {
  const std::size_t run = axis.extent / parts * axis.inner;
  Doubles result;
  for (std::int64_t o = 0; o < axis.outer; ++o) {
    const std::span<const double> piece = x.subspan(o * axis.extent * axis.inner + part * run, run);
    result.insert(result.end(), piece.begin(), piece.end());
  }
  return result;
}

// The parts one after the other along an axis; `axis` is that of one part.
Doubles joined(Inputs parts, const AxisView& axis) {
  const std::int64_t run = axis.extent * axis.inner;
  Doubles result;
  for (std::int64_t o = 0; o < axis.outer; ++o)
    for (const std::span<const double> part : parts) {
      const std::span<const double> piece = part.subspan(o * run, run);
      result.insert(result.end(), piece.begin(), piece.end());
    }
  return result;
}

std::vector<Doubles> all_to_all_of(const OpView& op, Inputs inputs) {
  const int split_axis = static_cast<int>(op.attributes().integer("split_axis"));
  const int concat_axis = static_cast<int>(op.attributes().integer("concat_axis"));
  const std::size_t members = inputs.size();
  Shape part_shape = op.in(0);
  part_shape.set(split_axis, part_shape[split_axis] / static_cast<std::int64_t>(members));
  std::vector<Doubles> results;
  for (std::size_t to = 0; to < members; ++to) {
    std::vector<Doubles> parts;
    for (const std::span<const double> input : inputs)
      parts.push_back(part_of(input, around_axis(op.in(0), split_axis), members, to));
    results.push_back(joined(std::vector<std::span<const double>>(parts.begin(), parts.end()),
                             around_axis(part_shape, concat_axis)));
  }
  return results;
}

// What a member gives is flat: its rows, how many of them go to each member, how many come from each.
std::vector<Doubles> exchanged_rows(const OpView& op, Inputs inputs) {
  using namespace exchange_rows_input;
  const std::size_t members = inputs.size();
  const std::int64_t width = op.in(kRows)[1], sizes = op.in(kRows).elements();
  const auto rows = [&](std::size_t from, std::size_t to) {
    return static_cast<std::int64_t>(inputs[from][sizes + to]);
  };
  std::vector<Doubles> results(members);
  for (std::size_t to = 0; to < members; ++to) {
    for (std::size_t from = 0; from < members; ++from) {
      check(rows(from, to) == static_cast<std::int64_t>(inputs[to][sizes + members + from]),
            "two members disagree about the rows between them");
      std::int64_t first = 0;
      for (std::size_t before = 0; before < to; ++before) first += rows(from, before);
      const std::span<const double> given = inputs[from].subspan(first * width, rows(from, to) * width);
      results[to].insert(results[to].end(), given.begin(), given.end());
    }
    check(std::ssize(results[to]) <= op.output(0).shape.elements(), "more rows come than there is room for");
    results[to].resize(op.output(0).shape.elements(), 0.0);
  }
  return results;
}

}  // namespace

std::vector<Doubles> run_collective(const OpView& op, Inputs inputs) {
  const std::size_t members = inputs.size();
  const Attributes& attributes = op.attributes();
  const auto axis = [&] { return around_axis(op.in(0), static_cast<int>(attributes.integer("axis"))); };
  const auto root = [&] { return static_cast<std::size_t>(attributes.integer("root")); };
  std::vector<Doubles> results(members);
  switch (op.op.kind) {
    case OpKind::kAllReduce:
      results.assign(members, reduced(reduce_op_named(attributes.text("op")), inputs));
      return results;
    case OpKind::kReduce:
      results.assign(members, Doubles(inputs[0].size(), 0.0));
      results[root()] = reduced(ReduceOp::kSum, inputs);
      return results;
    case OpKind::kAllGather:
      results.assign(members, joined(inputs, axis()));
      return results;
    case OpKind::kReduceScatter: {
      const Doubles sum = reduced(ReduceOp::kSum, inputs);
      for (std::size_t i = 0; i < members; ++i) results[i] = part_of(sum, axis(), members, i);
      return results;
    }
    case OpKind::kBucketReduceScatter: {
      Doubles sum = reduced(ReduceOp::kSum, inputs);
      const std::size_t part = op.output(0).shape.elements();
      sum.resize(part * members, 0.0);
      for (std::size_t i = 0; i < members; ++i)
        results[i] = Doubles(sum.begin() + static_cast<std::ptrdiff_t>(i * part),
                             sum.begin() + static_cast<std::ptrdiff_t>((i + 1) * part));
      return results;
    }
    case OpKind::kBucketAllGather: {
      Doubles whole;
      for (const std::span<const double> input : inputs)
        whole.insert(whole.end(), input.begin(), input.end());
      std::size_t elements = 0;
      for (std::size_t i = 0; i < op.op.outputs.size(); ++i) elements += op.output(i).shape.elements();
      whole.resize(elements);  // without the padding
      results.assign(members, whole);
      return results;
    }
    case OpKind::kBroadcast:
      results.assign(members, Doubles(inputs[root()].begin(), inputs[root()].end()));
      return results;
    case OpKind::kAllToAll:
      return all_to_all_of(op, inputs);
    case OpKind::kExchangeRows:
      return exchanged_rows(op, inputs);
    default:
      unreachable();
  }
}

std::vector<Doubles> separate_outputs(const OpView& op, const Doubles& flat) {
  std::vector<Doubles> outputs;
  auto from = flat.begin();
  for (std::size_t i = 0; i < op.op.outputs.size(); ++i) {
    const auto end = from + op.output(i).shape.elements();
    outputs.emplace_back(from, end);
    from = end;
  }
  return outputs;
}

// Minimum and maximum: to the members that have the extreme value, to each of several in full. Product:
// y / x is the product of the others; x must not be 0.
void all_reduce_grad_kernel(KernelCall& call) {
  const ReduceOp op = reduce_op_named(call.attributes().text("op"));
  const std::span<const double> x = call.in(0), y = call.in(1), dy = call.in(2);
  for (std::size_t i = 0; i < x.size(); ++i)
    call.out(0)[i] = op == ReduceOp::kProduct ? dy[i] * y[i] / x[i] : x[i] == y[i] ? dy[i] : 0;
}

}  // namespace nadi::inline engines
