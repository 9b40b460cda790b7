#include "nadi/engine/cuda/padded_rows.h"

#include "nadi/base/round_up.h"
#include "nadi/engine/cuda/kernel_needs.h"

namespace nadi::cuda {
namespace {

// Rows that 16-byte loads find at their multiples are good as they are, and short ones are not worth it.
constexpr std::int64_t kGoodMultiple = 8;
constexpr std::int64_t kWorthPadding = 1024;

bool wants_padding(const Tensor& tensor) {
  if (tensor.variable || tensor.producer == kNoOp || tensor.shape.rank() < 2) return false;
  const std::int64_t columns = tensor.shape[tensor.shape.rank() - 1];
  return columns >= kWorthPadding && columns % kGoodMultiple != 0 && tensor.dtype != DType::kI32 &&
         tensor.dtype != DType::kI64;
}

}  // namespace

std::vector<std::int64_t> padded_row_strides(const Graph& graph) {
  std::vector<std::int64_t> strides;
  for (std::size_t t = 0; t < graph.tensors().size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    if (!wants_padding(tensor)) continue;
    strides.resize(graph.tensors().size(), 0);
    strides[t] = rounded_up(tensor.shape[tensor.shape.rank() - 1], kRowMultiple);
  }
  // Not where somebody cannot take it: views, messages, kernels that want one row after the other.
  for (const Op& op : graph.ops()) {
    if (strides.empty()) break;
    const bool takes = !meets_others(op) && kernel_needs(op.kind).takes_padded_rows;
    if (takes) continue;
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) strides[index(input)] = 0;
    for (const OpOutput& output : op.outputs) strides[index(output.tensor)] = 0;
  }
  return strides;
}

}  // namespace nadi::cuda
