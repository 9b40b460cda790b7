#include "nadi/cuda/kernel_runner.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/strided_copy.h"

namespace nadi::inline engines::cuda {

KernelRunner::KernelRunner(const PreparedGraph& prepared, Device& device, std::span<std::byte> workspace)
    : prepared_(prepared), device_(device), workspace_(workspace) {
  check(static_cast<std::int64_t>(workspace.size()) >= prepared.workspace(), "the workspace is too small");
  // Nothing is allocated later, and spans of operands stay valid while the next op's are added.
  std::size_t most_ops = 0, most_operands = 0;
  for (const PreparedKernel& kernel : prepared.kernels()) {
    std::size_t operands = 0;
    for (const PreparedOp& op : kernel.ops) operands += op.inputs.size() + op.outputs.size();
    most_ops = std::max(most_ops, kernel.ops.size());
    most_operands = std::max(most_operands, operands);
  }
  ops_.reserve(most_ops);
  operands_.reserve(most_operands);
}

Operand KernelRunner::bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const {
  if (operand.tensor == nullptr) return {};
  std::byte* const begin = addresses[index(operand.root)];
  return {.data = begin == nullptr ? nullptr : begin + operand.byte_offset,
          .tensor = operand.tensor,
          .strides = operand.strides,
          .spare_rows = operand.spare_rows};
}

std::span<const OpCall> KernelRunner::bind(std::size_t number, std::span<std::byte* const> addresses) {
  const PreparedKernel& kernel = prepared_.kernels()[number];
  ops_.clear();
  operands_.clear();
  for (const PreparedOp& op : kernel.ops) {
    const std::size_t first = operands_.size();
    for (const PreparedOperand& input : op.inputs) operands_.push_back(bind(input, addresses));
    for (const PreparedOperand& output : op.outputs) operands_.push_back(bind(output, addresses));
    const std::span<const Operand> all(operands_.data() + first, op.inputs.size() + op.outputs.size());
    ops_.push_back({.op = OpView{*op.graph, op.graph->ops()[op.op]},
                    .inputs = all.first(op.inputs.size()),
                    .outputs = all.subspan(op.inputs.size())});
  }
  return ops_;
}

void KernelRunner::run(std::size_t number, std::span<std::byte* const> addresses, cudaStream_t stream) {
  const PreparedKernel& kernel = prepared_.kernels()[number];
  bind(number, addresses);
  std::size_t operand = 0;
  for (std::size_t i = 0; i < kernel.ops.size(); ++i) {
    for (const PreparedOperand& input : kernel.ops[i].inputs) {
      if (input.packed_at >= 0) {
        Operand& strided = operands_[operand];
        const Operand packed{.data = workspace_.data() + input.packed_at,
                             .tensor = input.tensor,
                             .strides = input.packed_strides};
        strided_copy(stream, {.from = strided.data,
                              .from_dtype = strided.dtype(),
                              .from_strides = strided.strides,
                              .to = packed.data,
                              .to_dtype = packed.dtype(),
                              .to_strides = packed.strides,
                              .shape = packed.shape()});
        strided = packed;
      }
      ++operand;
    }
    operand += kernel.ops[i].outputs.size();
  }
  const bool single = kernel.fused == FusedKind::kNone || kernel.fused == FusedKind::kUpdates;
  const Kernel launch =
      single ? kernel_of(prepared_.graph().ops()[kernel.first_op].kind) : kernel_of(kernel.fused);
  launch({.ops = ops_,
          .workspace = workspace_.first(static_cast<std::size_t>(kernel.kernel_workspace)),
          .device = device_,
          .stream = stream});
}

}  // namespace nadi::inline engines::cuda
