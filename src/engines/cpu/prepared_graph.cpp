#include "nadi/cpu/prepared_graph.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/comm/op_transfers.h"
#include "nadi/cpu/strided_copy.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cpu {
namespace {

[[noreturn]] void refuse(const Op& op) {
  if (op.kind == OpKind::kQuantizeFp8)
    throw environment_error(format("op '{}': the CPU does not compute in fp8", op.name),
                            "use bf16, or run on a GPU with fp8");
  throw environment_error(format("op '{}' ({}) communicates with other ranks; there is only one rank",
                                 op.name, to_string(op.kind)),
                          "start as many ranks as the plan needs");
}

}  // namespace

PreparedGraph::PreparedGraph(const Graph& graph, const PrepareOptions& options) : graph_(graph) {
  auto fused = options.fused.begin();
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    if (definition(op.kind).op_class == OpClass::kView) continue;
    PreparedKernel kernel = prepare(op, options);
    kernel.first_op = i;
    kernel.end_op = i + 1;
    if (fused != options.fused.end() && fused->first == i) {
      check(kernel.entry != nullptr && kernel.workspace == 0, "fused kernels have no workspace");
      kernel.end_op = fused->end;
      joined_.join(graph_, *fused, kernel.inputs, kernel.outputs);
      i = fused->end - 1;
      ++fused;
    }
    most_operands_ = std::max({most_operands_, kernel.inputs.size(), kernel.outputs.size()});
    workspace_ = std::max(workspace_, kernel.workspace);
    kernels_.push_back(std::move(kernel));
  }
}

PreparedKernel PreparedGraph::prepare(const Op& op, const PrepareOptions& options) {
  PreparedKernel kernel;
  for (const OpOutput& output : op.outputs) kernel.outputs.push_back({operand_layout(graph_, output.tensor)});
  if (meets_others(op)) {
    if (!options.connected) refuse(op);
    for (const TensorId input : op.inputs) kernel.inputs.push_back({operand_layout(graph_, input)});
    staging_ = std::max(staging_, transfer_staging(graph_, op));
    return kernel;
  }
  kernel.entry = &kernel_entry(op.kind);
  if (kernel.entry->run == nullptr) refuse(op);
  if (kernel.entry->workspace != nullptr)
    kernel.kernel_workspace =
        rounded_up(kernel.entry->workspace(OpView{graph_, op}, options.threads), kArenaAlignment);
  kernel.workspace = kernel.kernel_workspace;
  for (const TensorId input : op.inputs) {
    PreparedOperand operand{operand_layout(graph_, input)};
    if (operand.tensor != nullptr && !kernel.entry->takes_strides &&
        !is_contiguous(operand.tensor->shape, operand.strides)) {
      operand.packed_at = kernel.workspace;
      kernel.workspace += rounded_up(operand.tensor->size().count(), kArenaAlignment);
    }
    kernel.inputs.push_back(std::move(operand));
  }
  return kernel;
}

KernelRunner::KernelRunner(const PreparedGraph& prepared, int threads, std::span<std::byte> workspace,
                           OpTransfers* comm)
    : prepared_(prepared), threads_(threads), workspace_(workspace), comm_(comm) {
  check(static_cast<std::int64_t>(workspace.size()) >= prepared.workspace(), "the workspace is too small");
  inputs_.reserve(prepared.most_operands());
  outputs_.reserve(prepared.most_operands());
}

Operand KernelRunner::bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const {
  if (operand.tensor == nullptr) return {};
  Operand bound{.data = addresses[index(operand.root)] + operand.byte_offset,
                .tensor = operand.tensor,
                .strides = operand.strides};
  if (operand.packed_at >= 0) {
    std::byte* packed = workspace_.data() + operand.packed_at;
    strided_copy({.source = bound.data,
                  .target = packed,
                  .shape = operand.tensor->shape,
                  .strides = operand.strides,
                  .element_size = size_of(operand.tensor->dtype)},
                 threads_);
    bound.data = packed;
  }
  return bound;
}

// A kernel of several ops has its operands' memory as one piece.
void KernelRunner::settle(std::size_t number, std::span<std::byte* const> addresses) {
  const PreparedKernel& kernel = prepared_.kernels()[number];
  const auto settle_operands = [&](const std::vector<PreparedOperand>& operands, bool writes) {
    for (const PreparedOperand& operand : operands) {
      if (operand.tensor == nullptr) continue;
      const std::int64_t whole = prepared_.graph().tensor(operand.root).size().count();
      comm_->settle(addresses[index(operand.root)], std::max(whole, operand.tensor->size().count()), writes);
    }
  };
  settle_operands(kernel.inputs, false);
  settle_operands(kernel.outputs, true);
}

void KernelRunner::run(std::size_t number, std::span<std::byte* const> addresses, ExecutedStep* record) {
  const PreparedKernel& kernel = prepared_.kernels()[number];
  const OpView op{prepared_.graph(), prepared_.graph().ops()[kernel.first_op]};
  inputs_.clear();
  outputs_.clear();
  for (const PreparedOperand& operand : kernel.inputs) inputs_.push_back(bind(operand, addresses));
  for (const PreparedOperand& operand : kernel.outputs) outputs_.push_back(bind(operand, addresses));
  if (kernel.communicates()) {
    comm_->start({op.op, inputs_, outputs_}, record);
    return;
  }
  kernel.entry->run({.op = op,
                     .inputs = inputs_,
                     .outputs = outputs_,
                     .workspace = workspace_.first(kernel.kernel_workspace),
                     .threads = threads_});
}

}  // namespace nadi::inline engines::cpu
