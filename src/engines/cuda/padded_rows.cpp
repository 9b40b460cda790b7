#include "nadi/cuda/padded_rows.h"

#include <set>
#include <string_view>

#include "nadi/base/round_up.h"
#include "nadi/cuda/kernel_needs.h"

namespace nadi::inline engines::cuda {
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

std::vector<std::int64_t> spare_rows_behind(const Program& program, const Graph& graph) {
  std::set<std::string_view> followed;  // by another variable of a bucket
  for (const VariableBucket& bucket : program.buckets)
    for (std::size_t i = 0; i + 1 < bucket.tensors.size(); ++i) followed.insert(bucket.tensors[i]);
  std::vector<std::int64_t> spare(graph.tensors().size(), 0);
  for (std::size_t t = 0; t < spare.size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const bool matrix = tensor.variable && tensor.shape.rank() == 2 && !tensor.shares_memory &&
                        (tensor.role == Role::kParameter || tensor.role == Role::kGradient);
    if (!matrix || followed.contains(tensor.name)) continue;
    const std::int64_t rows = tensor.shape[0];
    if (rows >= kWorthPadding && rows % kGoodMultiple != 0) spare[t] = rounded_up(rows, kRowMultiple) - rows;
  }
  return spare;
}

}  // namespace nadi::inline engines::cuda
