#include "nadi/engine/cpu/prepared_graph.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/engine/cpu/comm_ops.h"
#include "nadi/engine/cpu/strided_copy.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/ops/views.h"

namespace nadi::cpu {
namespace {

[[noreturn]] void refuse(const Op& op) {
  if (op.kind == OpKind::kQuantizeFp8)
    throw environment_error(format("op '{}': the CPU does not compute in fp8", op.name),
                            "use bf16, or run on a GPU with fp8");
  throw environment_error(format("op '{}' ({}) communicates with other ranks; there is only one rank",
                                 op.name, to_string(op.kind)),
                          "start as many ranks as the plan needs");
}

PreparedOperand prepare(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return {};
  Layout layout = layout_of(graph, id);
  const Tensor& tensor = graph.tensor(id);
  return {.root = layout.root,
          .tensor = &tensor,
          .byte_offset = layout.offset * size_of(tensor.dtype),
          .strides = std::move(layout.strides)};
}

}  // namespace

PreparedGraph::PreparedGraph(const Graph& graph, int threads, bool connected)
    : graph_(graph), ops_(graph.ops().size()) {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = graph.ops()[i];
    if (definition(op.kind).op_class == OpClass::kView) continue;
    PreparedOp& prepared = ops_[i];
    for (const OpOutput& output : op.outputs) prepared.outputs.push_back(prepare(graph, output.tensor));
    most_operands_ = std::max({most_operands_, op.inputs.size(), op.outputs.size()});
    prepared.communicates = communicates(op);
    if (prepared.communicates) {
      if (!connected) refuse(op);
      for (const TensorId input : op.inputs) prepared.inputs.push_back(prepare(graph, input));
      staging_ = std::max(staging_, CommOps::staging_bytes(graph, op));
      continue;
    }
    prepared.entry = &kernel_entry(op.kind);
    if (prepared.entry->run == nullptr) refuse(op);
    if (prepared.entry->workspace != nullptr)
      prepared.kernel_workspace =
          rounded_up(prepared.entry->workspace(OpView{graph, op}, threads), kArenaAlignment);
    prepared.workspace = prepared.kernel_workspace;
    for (const TensorId input : op.inputs) {
      PreparedOperand operand = prepare(graph, input);
      if (operand.tensor != nullptr && !prepared.entry->takes_strides &&
          !is_contiguous(operand.tensor->shape, operand.strides)) {
        operand.packed_at = prepared.workspace;
        prepared.workspace += rounded_up(operand.tensor->size().count(), kArenaAlignment);
      }
      prepared.inputs.push_back(std::move(operand));
    }
    workspace_ = std::max(workspace_, prepared.workspace);
  }
}

OpRunner::OpRunner(const PreparedGraph& prepared, int threads, std::span<std::byte> workspace, CommOps* comm)
    : prepared_(prepared), threads_(threads), workspace_(workspace), comm_(comm) {
  check(static_cast<std::int64_t>(workspace.size()) >= prepared.workspace(), "the workspace is too small");
  inputs_.reserve(prepared.most_operands());
  outputs_.reserve(prepared.most_operands());
}

Operand OpRunner::bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const {
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

void OpRunner::settle(std::size_t op, std::span<std::byte* const> addresses) {
  const PreparedOp& prepared = prepared_.op(op);
  const auto settle_operands = [&](const std::vector<PreparedOperand>& operands, bool writes) {
    for (const PreparedOperand& operand : operands)
      if (operand.tensor != nullptr)
        comm_->settle(addresses[index(operand.root)], prepared_.graph().tensor(operand.root).size().count(),
                      writes);
  };
  settle_operands(prepared.inputs, false);
  settle_operands(prepared.outputs, true);
}

void OpRunner::run(std::size_t op, std::span<std::byte* const> addresses, ExecutedStep* record) {
  const PreparedOp& prepared = prepared_.op(op);
  inputs_.clear();
  outputs_.clear();
  for (const PreparedOperand& operand : prepared.inputs) inputs_.push_back(bind(operand, addresses));
  for (const PreparedOperand& operand : prepared.outputs) outputs_.push_back(bind(operand, addresses));
  if (prepared.communicates) {
    comm_->start({prepared_.graph(), prepared_.graph().ops()[op]}, inputs_, outputs_, record);
    return;
  }
  prepared.entry->run({.op = {prepared_.graph(), prepared_.graph().ops()[op]},
                       .inputs = inputs_,
                       .outputs = outputs_,
                       .workspace = workspace_.first(prepared.kernel_workspace),
                       .threads = threads_});
}

}  // namespace nadi::cpu
