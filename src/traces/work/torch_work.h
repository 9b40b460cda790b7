// How much an op of PyTorch computes and how much memory it moves, told by the shapes of its tensors.
//
//   if (const auto work = torch_work("aten::addmm", inputs, outputs)) ...       // as the trace has them
//
// Floating-point operations are those that frameworks count:
//   - matrix products 2 m n k; convolutions 2 per weight of a filter and element of the output, and twice as
//     much for both of their gradients;
//   - attention 4 per element of the queries and position of the keys, whether it is causal or not, and 2.5
//     times as much backward, where the scores are computed once more;
//   - lookups (embeddings, indexing, gathering and scattering, the loss of the right class, writes into a KV
//     cache) one for each element that they touch, which is read and written, however large the table is;
//   - what reads a part of a table or of a KV cache that no shape tells (paged attention, FBGEMM's
//   embeddings)
//     is `known` to be unknown: neither the table nor the op around it says what was touched;
//   - any other op one for each element of its largest tensor, or of its longest list of tensors.
// Memory: each tensor of inputs and outputs once. Where outputs were not recorded, one as large as the
// largest input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

struct TorchWork {
  Flops flops;
  Bytes bytes;
  bool known = true;  // false means the op did work of which the shapes do not tell how much
};

// Nothing where no tensor has a shape. The texts are JSON, as in the traces of PyTorch's host (types
// "Tensor(float)", "GenericList[Tensor(float)]") and of its profiler ("float", "TensorList").
std::optional<TorchWork> torch_work(std::string_view name, const IoInfo& inputs, const IoInfo& outputs);

}  // namespace nadi::inline traces
