#include "nadi/cuda/joined_runs.h"

#include <algorithm>

#include "nadi/cuda/kernel_needs.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {
namespace {

// Columns begin at multiples of it, where 16-byte loads of all types do.
constexpr std::int64_t kColumnMultiple = 8;

bool has_bias(const Op& op) {
  return op.inputs[joined_input::kBias] != kNoTensor;
}

bool is_alike(const Op& first, const Op& second) {
  return first.inputs[joined_input::kRows] == second.inputs[joined_input::kRows] &&
         has_bias(first) == has_bias(second) && first.attributes == second.attributes;
}

TensorId other_summand(const JoinedGradient& member) {
  const std::vector<TensorId>& inputs = member.add->inputs;
  return inputs[0] == output_of(member.to_input) ? inputs[1] : inputs[0];
}

}  // namespace

JoinedRuns::JoinedRuns(const Program& program, std::size_t g)
    : graph_(program.graphs[g]), order_(program.buckets), readers_(graph_.tensors().size()) {
  for (std::uint32_t i = 0; i < graph_.ops().size(); ++i)
    for (const TensorId input : graph_.ops()[i].inputs)
      if (input != kNoTensor) readers_[index(input)].push_back(i);
}

std::optional<ResultsRun> JoinedRuns::results(std::span<const std::uint32_t> ops) const {
  ResultsRun run;
  while (run.ops < ops.size() && is_product(op(ops[run.ops]), false, true)) {
    const Op& product = op(ops[run.ops]);
    if (!run.members.empty() && !is_alike(*run.members.front().product, product)) break;
    JoinedResult& member = run.members.emplace_back(JoinedResult{.product = &product});
    ++run.ops;
    if (run.ops == ops.size() || !is_rotary_of(op(ops[run.ops]), output_of(&product))) continue;
    if (readers_of(output_of(&product)) != 1) continue;
    member.rotary = &op(ops[run.ops]);
    ++run.ops;
  }
  if (run.members.size() < 2 || !suits(run)) return std::nullopt;
  return run;
}

std::optional<GradientsRun> JoinedRuns::gradients(std::span<const std::uint32_t> ops) const {
  GradientsRun run;
  for (;;) {
    JoinedGradient member;
    const std::size_t taken = read(ops.subspan(run.ops), member);
    if (taken == 0) break;
    if (!run.members.empty() && !continues(run, member)) break;
    if (member.add != nullptr) run.last_add = member.add;
    run.members.push_back(member);
    run.ops += taken;
  }
  if (run.members.size() < 2 || !sums_up(run) || !suits(run)) return std::nullopt;
  return run;
}

// A product of matrices and nothing else, of more rows than decoding has.
bool JoinedRuns::is_product(const Op& op, bool transpose_a, bool transpose_b) const {
  if (op.kind != OpKind::kMatmul || op.outputs.size() != 1 || op.attributes.integer("batch_axes") != 0 ||
      op.attributes.text("activation") != "none" || op.attributes.boolean("transpose_a") != transpose_a ||
      op.attributes.boolean("transpose_b") != transpose_b)
    return false;
  for (std::size_t i = joined_input::kFirstScale; i < op.inputs.size(); ++i)
    if (op.inputs[i] != kNoTensor) return false;
  const MatmulExtents extents = matmul_extents(OpView{graph_, op});
  return (transpose_a ? extents.k : extents.m) > kFewRows;
}

// Turns `value`, in its type, into a value of its own.
bool JoinedRuns::is_rotary_of(const Op& op, TensorId value) const {
  return op.kind == OpKind::kRotary && op.inputs[0] == value && !op.outputs[0].accumulate &&
         tensor(output_of(&op)).dtype == tensor(value).dtype;
}

// One after the other in memory, in this order.
bool JoinedRuns::follow(const std::vector<TensorId>& variables) const {
  for (std::size_t i = 0; i + 1 < variables.size(); ++i) {
    const Tensor& one = tensor(variables[i]);
    const Tensor& next = tensor(variables[i + 1]);
    if (!one.variable || !next.variable || one.dtype != next.dtype || !order_.follows(one.name, next.name))
      return false;
  }
  return true;
}

// Different values of one type and of as many rows, which may be columns of one matrix: everybody who knows
// them goes by strides.
bool JoinedRuns::can_share_rows(const std::vector<TensorId>& values) const {
  const auto goes_by_strides = [&](const Op& op) {
    return !meets_others(op) && kernel_needs(op.kind).takes_shared_rows;
  };
  const Shape& first = tensor(values[0]).shape;
  for (const TensorId id : values) {
    const Tensor& value = tensor(id);
    if (std::ranges::count(values, id) != 1 || value.shape.rank() != first.rank() ||
        value.shape.slice(0, first.rank() - 1) != first.slice(0, first.rank() - 1))
      return false;
    if (value.variable || value.producer == kNoOp || value.shape.rank() < 2 ||
        value.dtype != tensor(values[0]).dtype || value.shape[-1] % kColumnMultiple != 0)
      return false;
    const auto reads_by_strides = [&](std::uint32_t reader) { return goes_by_strides(op(reader)); };
    if (!goes_by_strides(graph_.op(value.producer)) ||
        !std::ranges::all_of(readers_[index(id)], reads_by_strides))
      return false;
  }
  return true;
}

bool JoinedRuns::suits(ResultsRun& run) const {
  const auto weight = [](const JoinedResult& member) {
    return member.product->inputs[joined_input::kWeight];
  };
  if (!follow(each_of(run.members, weight))) std::ranges::reverse(run.members);
  if (!follow(each_of(run.members, weight))) return false;
  const auto bias = [](const JoinedResult& member) { return member.product->inputs[joined_input::kBias]; };
  if (has_bias(*run.members[0].product) && !follow(each_of(run.members, bias))) return false;
  const auto value = [](const JoinedResult& member) { return member.value(); };
  for (const JoinedResult& member : run.members)
    if (tensor(output_of(member.product)).variable) return false;
  return can_share_rows(each_of(run.members, value));
}

// Reads what begins with the first op, about one dy. 0 means nothing of the kind.
std::size_t JoinedRuns::read(std::span<const std::uint32_t> ops, JoinedGradient& member) const {
  std::size_t at = 0;
  const auto next = [&]() -> const Op* { return at < ops.size() ? &op(ops[at]) : nullptr; };
  const auto is_of_dy = [&](const Op* op) {
    if (member.value == kNoTensor) member.value = op->inputs[0];
    return op->inputs[0] == member.turned();
  };
  if (const Op* op = next();
      op != nullptr && op->kind == OpKind::kRotary && is_rotary_of(*op, op->inputs[0])) {
    member.rotary = op;
    member.value = op->inputs[0];
    ++at;
  }
  if (const Op* op = next(); op != nullptr && op->kind == OpKind::kSumRows &&
                             op->attributes.integer("kept_axes") == 1 && is_of_dy(op)) {
    member.bias_sum = op;
    ++at;
  }
  if (const Op* op = next();
      op != nullptr && is_product(*op, false, false) && !has_bias(*op) && is_of_dy(op)) {
    member.to_input = op;
    ++at;
    if (const Op* sum = next(); sum != nullptr && adds(*sum, output_of(op))) {
      member.add = sum;
      ++at;
    }
  }
  if (const Op* op = next();
      op != nullptr && is_product(*op, true, false) && !has_bias(*op) && is_of_dy(op)) {
    member.to_weight = op;
    ++at;
  }
  return member.to_input != nullptr || member.to_weight != nullptr ? at : 0;
}

// Adds this value, which nobody else reads, to one of the same shape and type.
bool JoinedRuns::adds(const Op& op, TensorId value) const {
  if (op.kind != OpKind::kAdd || readers_of(value) != 1 || tensor(value).variable) return false;
  const Tensor& first = tensor(op.inputs[0]);
  const Tensor& second = tensor(op.inputs[1]);
  return (op.inputs[0] == value) != (op.inputs[1] == value) && first.shape == second.shape &&
         first.dtype == second.dtype && !op.outputs[0].accumulate;
}

// Whether a member goes on where the run ends: the same rows x, and the sum that was made so far.
bool JoinedRuns::continues(const GradientsRun& run, const JoinedGradient& member) const {
  const JoinedGradient& first = run.members.front();
  const JoinedGradient& before = run.members.back();
  if (!member.same_uses(first)) return false;
  if (member.to_weight != nullptr && (member.to_weight->inputs[1] != first.to_weight->inputs[1] ||
                                      member.to_weight->attributes != first.to_weight->attributes))
    return false;
  if (member.to_input == nullptr) return true;
  if (member.to_input->attributes != first.to_input->attributes || member.add == nullptr) return false;
  const TensorId sum = output_of(before.add != nullptr ? before.add : before.to_input);
  return other_summand(member) == sum && readers_of(sum) == 1 && !tensor(sum).variable;
}

bool JoinedRuns::sums_up(GradientsRun& run) const {
  const JoinedGradient& first = run.members.front();
  if (first.to_input == nullptr) return true;
  if (first.add != nullptr) run.summand = other_summand(first);
  return tensor(output_of(first.to_input)).shape == tensor(output_of(run.last_add)).shape &&
         tensor(output_of(run.last_add)).dtype == tensor(first.value).dtype;
}

bool JoinedRuns::suits(GradientsRun& run) const {
  const JoinedGradient any = run.members.front();
  const auto weight = [](const JoinedGradient& member) {
    return member.to_input->inputs[joined_input::kWeight];
  };
  const auto weight_gradient = [](const JoinedGradient& member) { return output_of(member.to_weight); };
  const auto bias_gradient = [](const JoinedGradient& member) { return output_of(member.bias_sum); };
  const auto in_order = [&] {
    return (any.to_input == nullptr || follow(each_of(run.members, weight))) &&
           (any.to_weight == nullptr || follow(each_of(run.members, weight_gradient))) &&
           (any.bias_sum == nullptr || follow(each_of(run.members, bias_gradient)));
  };
  if (!in_order()) std::ranges::reverse(run.members);
  if (!in_order()) return false;
  for (const JoinedGradient& member : run.members) {
    if (any.to_weight != nullptr &&
        member.to_weight->outputs[0].accumulate != any.to_weight->outputs[0].accumulate)
      return false;
    if (any.bias_sum != nullptr &&
        member.bias_sum->outputs[0].accumulate != any.bias_sum->outputs[0].accumulate)
      return false;
    // It is turned in its place, so nobody may want it as it was, nor the result behind this kernel.
    const std::size_t uses = (member.bias_sum != nullptr ? 1 : 0) + (member.to_input != nullptr ? 1 : 0) +
                             (member.to_weight != nullptr ? 1 : 0);
    if (member.rotary != nullptr && (readers_of(member.value) != 1 || readers_of(member.turned()) != uses))
      return false;
    // One op writes them, and nothing else: whatever reads them joins the same.
    const OpId producer = tensor(any.value).producer;
    if (producer == kNoOp || tensor(member.value).producer != producer ||
        graph_.op(producer).outputs.size() != run.members.size())
      return false;
  }
  const auto value = [](const JoinedGradient& member) { return member.value; };
  return can_share_rows(each_of(run.members, value));
}

}  // namespace nadi::inline engines::cuda
