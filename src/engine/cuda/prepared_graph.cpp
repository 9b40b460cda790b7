#include "nadi/engine/cuda/prepared_graph.h"

#include <algorithm>
#include <memory>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/engine/comm/op_transfers.h"
#include "nadi/engine/cuda/kernel_needs.h"
#include "nadi/engine/cuda/padded_rows.h"
#include "nadi/graph/ops/views.h"

namespace nadi::cuda {
namespace {

[[noreturn]] void refuse_on_gpu(const Op& op) {
  if (op.kind == OpKind::kQuantizeFp8)
    throw environment_error(format("op '{}': products in fp8 are not computed on GPUs yet", op.name),
                            "use bf16");
  throw environment_error(format("op '{}' ({}) communicates with other ranks; there is only one rank",
                                 op.name, to_string(op.kind)),
                          "start as many ranks as the plan needs");
}

// Of the contiguous copy of an operand.
std::vector<std::int64_t> packed_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (std::size_t axis = 1; axis < strides.size(); ++axis)
    strides[strides.size() - 1 - axis] =
        strides[strides.size() - axis] * shape[static_cast<int>(strides.size() - axis)];
  return strides;
}

}  // namespace

PreparedGraph::PreparedGraph(const Program& program, std::size_t g, const PrepareOptions& options)
    : graph_(program.graphs[g]) {
  if (options.pad_rows) row_strides_ = padded_row_strides(graph_);
  if (!row_strides_.empty()) spare_rows_ = spare_rows_behind(program, graph_);
  const std::vector<FusedOps> fused =
      options.fuse ? fused_ops(program, g, options.traits) : std::vector<FusedOps>{};
  auto next = fused.begin();
  for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
    if (definition(graph_.ops()[i].kind).op_class == OpClass::kView) continue;
    FusedOps ops{i, i + 1, FusedKind::kNone};
    if (next != fused.end() && next->first == i) ops = *next++;
    kernels_.push_back(prepare(ops, options));
    workspace_ = std::max(workspace_, kernels_.back().workspace);
    i = ops.end - 1;
  }
}

PreparedKernel PreparedGraph::prepare(const FusedOps& ops, const PrepareOptions& options) {
  PreparedKernel kernel{.first_op = ops.first, .end_op = ops.end, .fused = ops.kind, .ops = {}};
  const Op& first = graph_.ops()[ops.first];
  if (meets_others(first)) {
    if (!options.connected) refuse_on_gpu(first);
    kernel.communicates = true;
    staging_ = std::max(staging_, transfer_staging(graph_, first));
    kernel.ops.push_back(prepare_op(ops.first, false, kernel));
    return kernel;
  }
  if (!kernel_needs(first.kind).exists) refuse_on_gpu(first);
  const bool single = ops.kind == FusedKind::kNone || ops.kind == FusedKind::kUpdates;
  if (const auto workspace = kernel_needs(first.kind).workspace; single && workspace != nullptr)
    kernel.kernel_workspace = workspace(OpView{graph_, first}, options.traits);
  if (!single) kernel.kernel_workspace = fused_workspace(graph_, ops, options.traits);
  kernel.kernel_workspace = rounded_up(kernel.kernel_workspace, kDeviceAlignment);
  kernel.workspace = kernel.kernel_workspace;
  if (single) {
    kernel.ops.push_back(prepare_op(ops.first, true, kernel));
    if (ops.kind == FusedKind::kUpdates)
      joined_.join(graph_, {ops.first, ops.end}, kernel.ops.front().inputs, kernel.ops.front().outputs);
    return kernel;
  }
  for (std::uint32_t i = ops.first; i < ops.end; ++i)
    if (definition(graph_.ops()[i].kind).op_class != OpClass::kView)
      kernel.ops.push_back(prepare_op(i, true, kernel));
  return kernel;
}

PreparedOperand PreparedGraph::operand(TensorId tensor) const {
  PreparedOperand operand{operand_layout(graph_, tensor)};
  if (tensor != kNoTensor && !spare_rows_.empty() && operand.root == tensor)
    operand.spare_rows = spare_rows_[index(tensor)];
  if (tensor == kNoTensor || row_strides_.empty() || row_strides_[index(operand.root)] == 0) return operand;
  // All axes but the last are rows.
  std::int64_t stride = row_strides_[index(operand.root)];
  for (std::size_t axis = operand.strides.size() - 1; axis-- > 0;) {
    operand.strides[axis] = stride;
    stride *= operand.tensor->shape[static_cast<int>(axis)];
  }
  return operand;
}

PreparedOp PreparedGraph::prepare_op(std::uint32_t number, bool packs, PreparedKernel& kernel) {
  const Op& op = graph_.ops()[number];
  PreparedOp prepared{.op = number, .inputs = {}, .outputs = {}};
  for (const OpOutput& output : op.outputs) prepared.outputs.push_back(operand(output.tensor));
  const KernelNeeds& needs = kernel_needs(op.kind);
  for (const TensorId input : op.inputs) {
    PreparedOperand taken = operand(input);
    const bool padded =
        taken.tensor != nullptr && !row_strides_.empty() && row_strides_[index(taken.root)] != 0;
    if (packs && taken.tensor != nullptr && !padded && !needs.takes_strides &&
        !is_contiguous(taken.tensor->shape, taken.strides)) {
      taken.packed_at = kernel.workspace;
      taken.packed_strides = packed_strides(taken.tensor->shape);
      kernel.workspace += rounded_up(taken.tensor->size().count(), kDeviceAlignment);
    }
    prepared.inputs.push_back(std::move(taken));
  }
  return prepared;
}

std::int64_t PreparedGraph::bytes_of(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const std::int64_t stride = row_strides_.empty() ? 0 : row_strides_[index(id)];
  if (stride == 0) return tensor.size().count();
  const std::int64_t rows = tensor.shape.elements() / tensor.shape[tensor.shape.rank() - 1];
  return checked_multiply(checked_multiply(rows, stride, "elements"), size_of(tensor.dtype), "bytes");
}

std::vector<std::int64_t> PreparedGraph::padded_sizes() const {
  std::vector<std::int64_t> sizes(row_strides_.size(), 0);
  for (std::uint32_t t = 0; t < sizes.size(); ++t)
    if (row_strides_[t] != 0) sizes[t] = bytes_of(TensorId{t});
  return sizes;
}

KernelPlan kernel_plan_of(std::span<const PreparedGraph* const> graphs) {
  KernelPlan plan{.alignment = kDeviceAlignment, .graphs = {}};
  std::int64_t staging = 0;
  for (const PreparedGraph* graph : graphs) {
    std::vector<PlannedKernel>& kernels = plan.graphs.emplace_back();
    for (const PreparedKernel& kernel : graph->kernels()) {
      kernels.push_back({.first_op = kernel.first_op,
                         .end_op = kernel.end_op,
                         .workspace = Bytes{kernel.workspace},
                         .communicates = kernel.communicates});
    }
    plan.workspace = std::max(plan.workspace, Bytes{graph->workspace()});
    staging = std::max(staging, graph->staging());
    plan.padded_sizes.push_back(graph->padded_sizes());
    for (std::size_t t = 0; t < graph->spare_rows().size(); ++t) {
      const Tensor& tensor = graph->graph().tensors()[t];
      if (graph->spare_rows()[t] > 0)
        plan.spare[tensor.name] = Bytes{graph->spare_rows()[t] * tensor.shape[1] * size_of(tensor.dtype)};
    }
  }
  plan.staging = OpTransfers::reserved_for(staging);
  return plan;
}

KernelPlan plan_cuda_kernels(const Program& program, const DeviceTraits& traits, bool connected) {
  std::vector<std::unique_ptr<PreparedGraph>> prepared;
  std::vector<const PreparedGraph*> graphs;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    prepared.push_back(std::make_unique<PreparedGraph>(
        program, g, PrepareOptions{.traits = traits, .connected = connected}));
    graphs.push_back(prepared.back().get());
  }
  return kernel_plan_of(graphs);
}

}  // namespace nadi::cuda
