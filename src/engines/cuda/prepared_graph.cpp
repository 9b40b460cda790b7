#include "nadi/cuda/prepared_graph.h"

#include <algorithm>
#include <memory>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/comm/op_transfers.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/padded_rows.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cuda {
namespace {

[[noreturn]] void refuse_on_gpu(const Op& op) {
  if (op.kind == OpKind::kQuantizeFp8)
    throw environment_error(format("op '{}': products in fp8 are not computed on GPUs yet", op.name),
                            "use bf16");
  if (definition(op.kind).op_class == OpClass::kCompute || op.kind == OpKind::kExchangeRows)
    throw environment_error(
        format("op '{}' ({}): layers with experts are not computed on GPUs yet", op.name, to_string(op.kind)),
        "compute on the CPU");
  throw environment_error(format("op '{}' ({}) communicates with other ranks; there is only one rank",
                                 op.name, to_string(op.kind)),
                          "start as many ranks as the plan needs");
}

// Strides of the contiguous copy of an operand.
std::vector<std::int64_t> packed_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (std::size_t axis = 1; axis < strides.size(); ++axis)
    strides[strides.size() - 1 - axis] =
        strides[strides.size() - axis] * shape[static_cast<int>(strides.size() - axis)];
  return strides;
}

// All axes but the last are rows.
void set_row_stride(OperandLayout& operand, std::int64_t stride) {
  for (std::size_t axis = operand.strides.size() - 1; axis-- > 0;) {
    operand.strides[axis] = stride;
    stride *= operand.tensor->shape[static_cast<int>(axis)];
  }
}

}  // namespace

PreparedGraph::PreparedGraph(const Program& program, std::size_t g, const PrepareOptions& options)
    : graph_(program.graphs[g]) {
  if (options.pad_rows) row_strides_ = padded_row_strides(graph_);
  if (!row_strides_.empty()) spare_rows_ = spare_rows_behind(program, graph_);
  const std::vector<FusedOps> fused =
      options.fuse ? fused_ops(program, g, options.traits) : std::vector<FusedOps>{};
  join(program, g, fused);
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

void PreparedGraph::join(const Program& program, std::size_t g, std::span<const FusedOps> fused) {
  const JoinedRuns runs(program, g);
  for (const FusedOps& of : fused) {
    if (of.kind != FusedKind::kJoinedResults && of.kind != FusedKind::kJoinedGradients) continue;
    std::vector<std::uint32_t> ops;
    for (std::uint32_t i = of.first; i < of.end; ++i)
      if (definition(graph_.ops()[i].kind).op_class != OpClass::kView) ops.push_back(i);
    const JoinedProducts& joined =
        products_
            .emplace(of.first, of.kind == FusedKind::kJoinedResults
                                   ? join_products(graph_, runs.results(ops).value())
                                   : join_products(graph_, runs.gradients(ops).value()))
            .first->second;
    row_strides_.resize(graph_.tensors().size(), 0);
    shares_rows_.resize(graph_.tensors().size(), 0);
    // Two kernels may read the same gradients.
    const auto is_same = [&](const SharedRows& rows) { return rows == joined.rows; };
    if (std::ranges::any_of(shared_rows_, is_same)) continue;
    shared_rows_.push_back(joined.rows);
    for (const SharedRows::Columns& columns : joined.rows.values) {
      check(shares_rows_[index(columns.value)] == 0, "a value shares the rows of two matrices");
      shares_rows_[index(columns.value)] = 1;
      row_strides_[index(columns.value)] = joined.row_stride;
    }
  }
}

PreparedKernel PreparedGraph::prepare(const FusedOps& ops, const PrepareOptions& options) {
  if (products_.contains(ops.first)) return prepare_joined(ops, options);
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
  const auto add_ops = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i)
      if (definition(graph_.ops()[i].kind).op_class != OpClass::kView)
        kernel.ops.push_back(prepare_op(i, true, kernel));
  };
  add_ops(ops.first, ops.end);
  add_ops(ops.ahead_first, ops.ahead_end);
  return kernel;
}

PreparedKernel PreparedGraph::prepare_joined(const FusedOps& ops, const PrepareOptions& options) {
  PreparedKernel kernel{.first_op = ops.first, .end_op = ops.end, .fused = ops.kind, .ops = {}};
  const JoinedProducts& joined = products_.at(ops.first);
  // One op after the other uses it.
  for (const Op& op : joined.graph.ops())
    if (const auto workspace = kernel_needs(op.kind).workspace; workspace != nullptr)
      kernel.kernel_workspace =
          std::max(kernel.kernel_workspace, workspace(OpView{joined.graph, op}, options.traits));
  kernel.kernel_workspace = rounded_up(kernel.kernel_workspace, kDeviceAlignment);
  kernel.workspace = kernel.kernel_workspace;
  for (std::uint32_t i = 0; i < joined.graph.ops().size(); ++i) {
    const Op& op = joined.graph.ops()[i];
    if (definition(op.kind).op_class == OpClass::kView) continue;
    PreparedOp& prepared = kernel.ops.emplace_back(PreparedOp{.graph = &joined.graph, .op = i});
    for (const OpOutput& output : op.outputs)
      prepared.outputs.push_back(joined_operand(joined, output.tensor));
    for (const TensorId input : op.inputs)
      add_input(joined_operand(joined, input), op.kind, prepared, kernel);
  }
  return kernel;
}

PreparedOperand PreparedGraph::joined_operand(const JoinedProducts& joined, TensorId tensor) const {
  PreparedOperand made{operand_layout(joined.graph, tensor)};
  if (tensor == kNoTensor) return made;
  const JoinedProducts::Place& place = joined.places[index(made.root)];
  if (place.row_stride == 0) {
    PreparedOperand same = operand(place.tensor);
    same.tensor = made.tensor;
    return same;
  }
  if (made.root == tensor) set_row_stride(made, place.row_stride);
  made.root = place.tensor;
  return made;
}

PreparedOperand PreparedGraph::operand(TensorId tensor) const {
  PreparedOperand operand{operand_layout(graph_, tensor)};
  if (tensor != kNoTensor && !spare_rows_.empty() && operand.root == tensor)
    operand.spare_rows = spare_rows_[index(tensor)];
  if (tensor == kNoTensor || row_strides_.empty() || row_strides_[index(operand.root)] == 0) return operand;
  set_row_stride(operand, row_strides_[index(operand.root)]);
  return operand;
}

PreparedOp PreparedGraph::prepare_op(std::uint32_t number, bool packs, PreparedKernel& kernel) {
  const Op& op = graph_.ops()[number];
  PreparedOp prepared{.graph = &graph_, .op = number};
  for (const OpOutput& output : op.outputs) prepared.outputs.push_back(operand(output.tensor));
  for (const TensorId input : op.inputs) {
    if (packs)
      add_input(operand(input), op.kind, prepared, kernel);
    else
      prepared.inputs.push_back(operand(input));
  }
  return prepared;
}

// With a contiguous copy, where the kernel wants one.
void PreparedGraph::add_input(PreparedOperand input, OpKind kind, PreparedOp& op,
                              PreparedKernel& kernel) const {
  const bool has_row_stride =
      input.tensor != nullptr && !row_strides_.empty() && row_strides_[index(input.root)] != 0;
  if (input.tensor != nullptr && !has_row_stride && !kernel_needs(kind).takes_strides &&
      !is_contiguous(input.tensor->shape, input.strides)) {
    input.packed_at = kernel.workspace;
    input.packed_strides = packed_strides(input.tensor->shape);
    kernel.workspace += rounded_up(input.tensor->size().count(), kDeviceAlignment);
  }
  op.inputs.push_back(std::move(input));
}

std::int64_t PreparedGraph::bytes_of(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const std::int64_t stride = row_strides_.empty() ? 0 : row_strides_[index(id)];
  if (stride == 0) return tensor.size().count();
  const std::int64_t columns = tensor.shape[-1], rows = tensor.shape.elements() / columns;
  if (!shares_rows_.empty() && shares_rows_[index(id)] != 0)
    return ((rows - 1) * stride + columns) * size_of(tensor.dtype);
  return checked_multiply(checked_multiply(rows, stride, "elements"), size_of(tensor.dtype), "bytes");
}

std::vector<std::int64_t> PreparedGraph::padded_sizes() const {
  std::vector<std::int64_t> sizes(row_strides_.size(), 0);
  for (std::uint32_t t = 0; t < sizes.size(); ++t)
    if (row_strides_[t] != 0 && (shares_rows_.empty() || shares_rows_[t] == 0))
      sizes[t] = bytes_of(TensorId{t});
  return sizes;
}

KernelPlan kernel_plan_of(std::span<const PreparedGraph* const> graphs) {
  KernelPlan plan{.alignment = kDeviceAlignment, .graphs = {}, .gathers_inputs = true};
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
    plan.shared_rows.push_back(graph->shared_rows());
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

}  // namespace nadi::inline engines::cuda
