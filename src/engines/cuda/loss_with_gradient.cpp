#include "nadi/cuda/loss_with_gradient.h"

#include <algorithm>

#include "nadi/base/round_up.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cuda {
namespace {

namespace input = cross_entropy_input;

bool touches(const Op& op, TensorId tensor) {
  return std::ranges::find(op.inputs, tensor) != op.inputs.end() ||
         std::ranges::find(op.outputs, tensor, &OpOutput::tensor) != op.outputs.end();
}

class LossFinder {
 public:
  LossFinder(const Graph& graph, std::uint32_t loss) : graph_(graph), loss_(loss) {}

  std::optional<std::uint32_t> gradient() const {
    const Op& loss = op(loss_);
    const TensorId logits = loss.inputs[input::kLogits];
    const Tensor& values = graph_.tensor(logits);
    if (values.variable || values.producer == kNoOp || is_view(op(index(values.producer)))) return {};
    // Only the two read logits, and what the loss keeps for its gradient.
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
      if (i == loss_ || i == index(values.producer)) continue;
      if (!touches(op(i), logits) && !touches(op(i), loss.outputs[1].tensor)) continue;
      if (found || i < loss_ || op(i).kind != OpKind::kCrossEntropyGrad) return {};
      found = i;
    }
    if (!found) return {};
    const Op& grad = op(*found);
    const bool same =
        std::equal(loss.inputs.begin(), loss.inputs.begin() + input::kCount + 1, grad.inputs.begin()) &&
        grad.inputs[input::kStatistics] == loss.outputs[1].tensor &&
        grad.attributes.integer("vocabulary") == loss.attributes.integer("vocabulary");
    const bool split = grad.inputs.size() > input::kPlace && grad.inputs[input::kPlace] != kNoTensor;
    const OpOutput& result = grad.outputs[0];
    if (!same || split || result.accumulate || graph_.tensor(result.tensor).variable) return {};
    for (const TensorId known :
         {loss.inputs[input::kTargets], loss.inputs[input::kCount], grad.inputs[input::kGradient]})
      if (!is_known(known, *found)) return {};
    return found;
  }

  // The first op behind the gradient, views left out, if it is a sum over its rows.
  std::optional<std::uint32_t> sum(std::uint32_t gradient, std::uint32_t end) const {
    std::uint32_t next = gradient + 1;
    while (next < end && is_view(op(next))) ++next;
    if (next >= end || op(next).kind != OpKind::kSumRows) return {};
    const bool of_it = op(next).inputs[0] == op(gradient).outputs[0].tensor;
    return of_it && op(next).attributes.integer("kept_axes") == 1 ? std::optional(next) : std::nullopt;
  }

  // A variable that nobody touches between the loss and op `until`.
  bool is_free(TensorId tensor, std::uint32_t until) const {
    if (!graph_.tensor(tensor).variable) return false;
    for (std::uint32_t i = loss_; i < until; ++i)
      if (touches(op(i), tensor)) return false;
    return true;
  }

 private:
  const Op& op(std::size_t i) const { return graph_.ops()[i]; }
  static bool is_view(const Op& op) { return definition(op.kind).op_class == OpClass::kView; }

  // Whether a value has been made when the loss is computed, and stays as it is until op `until`.
  bool is_known(TensorId tensor, std::uint32_t until) const {
    const Tensor& value = graph_.tensor(tensor);
    if (!value.variable) return value.producer == kNoOp || index(value.producer) < loss_;
    for (std::uint32_t i = loss_; i < until; ++i)
      if (std::ranges::find(op(i).outputs, tensor, &OpOutput::tensor) != op(i).outputs.end()) return false;
    return true;
  }

  const Graph& graph_;
  std::uint32_t loss_;
};

}  // namespace

std::optional<GradientOfLoss> gradient_with_loss(const Program& program, std::size_t g, std::uint32_t loss,
                                                 const DeviceTraits& traits) {
  constexpr int kBulkCopies = 90;  // compute capability with copies that a barrier in shared memory waits for
  if (traits.compute_capability < kBulkCopies) return {};
  const Graph& graph = program.graphs[g];
  const LossFinder finder(graph, loss);
  const std::optional<std::uint32_t> gradient = finder.gradient();
  if (!gradient) return {};
  const auto section = std::ranges::find_if(program.sections, [&](const Section& s) {
    return s.graph == g && s.first_op <= *gradient && *gradient < s.end_op;
  });
  if (section == program.sections.end()) return {};
  const std::optional<std::uint32_t> sum = finder.sum(*gradient, section->end_op);
  if (sum && !finder.is_free(graph.ops()[*sum].outputs[0].tensor, *sum)) return {};
  const Tensor& logits = graph.tensor(graph.ops()[loss].inputs[input::kLogits]);
  const auto element_size = static_cast<int>(size_of(logits.dtype));
  if (LossRing(logits.shape[-1] * element_size, sum.has_value(), element_size, traits).chunks == 0) return {};
  return GradientOfLoss{.first = *gradient, .end = sum.value_or(*gradient) + 1};
}

LossRing::LossRing(std::int64_t row_bytes, bool sums, int element_size, const DeviceTraits& traits) {
  const std::int64_t of_row = divided_up(row_bytes, kChunk);
  const std::int64_t most =
      std::min<std::int64_t>((traits.shared_memory_per_block - kOwn) / kChunk, kMostChunks);
  const bool has_sums = !sums || of_row * (16 / element_size) <= kSums;
  if (of_row < 2 || 2 * of_row + kLeastAhead > most || !has_sums) return;
  chunks_of_row = static_cast<int>(of_row);
  chunks = static_cast<int>(most);
}

std::int64_t loss_blocks(std::int64_t rows, const DeviceTraits& traits) {
  return std::min<std::int64_t>(rows, traits.multiprocessors);
}

std::int64_t loss_sums_workspace(std::int64_t rows, std::int64_t columns, const DeviceTraits& traits) {
  return loss_blocks(rows, traits) * columns * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace nadi::inline engines::cuda
