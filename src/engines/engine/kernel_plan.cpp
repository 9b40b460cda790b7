#include "nadi/engine/kernel_plan.h"

#include <algorithm>

namespace nadi::inline engines {
namespace {

bool is_fused(const PlannedKernel& kernel) {
  return kernel.end_op - kernel.first_op > 1;
}

// By tensor of a graph: values that ops of a kernel hand to each other, and nobody else reads. What nobody
// reads at all is written all the same.
std::vector<char> values_within(const Graph& graph, std::span<const PlannedKernel> kernels) {
  constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::uint32_t> kernel_of(graph.ops().size(), kNowhere);
  for (std::uint32_t k = 0; k < kernels.size(); ++k)
    for (std::uint32_t i = kernels[k].first_op; is_fused(kernels[k]) && i < kernels[k].end_op; ++i)
      kernel_of[i] = k;
  std::vector<std::size_t> root(graph.tensors().size());
  for (std::size_t t = 0; t < root.size(); ++t) root[t] = t;
  std::vector<char> inside(root.size(), 0), outside(root.size(), 0);  // by root: where it is read
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    if (definition(op.kind).op_class == OpClass::kView) {
      for (const OpOutput& output : op.outputs) root[index(output.tensor)] = root[index(op.inputs[0])];
      continue;
    }
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const std::size_t made = root[index(input)];
      const OpId producer = graph.tensors()[made].producer;
      if (producer == kNoOp) continue;
      const bool same = kernel_of[i] != kNowhere && kernel_of[index(producer)] == kernel_of[i];
      (same ? inside : outside)[made] = 1;
    }
  }
  for (std::size_t t = 0; t < inside.size(); ++t) inside[t] = inside[t] != 0 && outside[t] == 0;
  return inside;
}

// Whether `second` is the same op as `first` on the variables that follow in memory.
bool continues(const Graph& graph, const BucketOrder& order, const Op& first, const Op& second) {
  if (second.kind != first.kind || second.attributes != first.attributes ||
      second.inputs.size() != first.inputs.size() || second.outputs.size() != first.outputs.size())
    return false;
  const auto follows = [&](TensorId a, TensorId b) {
    const Tensor& one = graph.tensor(a);
    const Tensor& next = graph.tensor(b);
    return one.variable && next.variable && one.dtype == next.dtype && order.follows(one.name, next.name);
  };
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    const TensorId a = first.inputs[i], b = second.inputs[i];
    const bool shared_scalar = a == b && (a == kNoTensor || graph.tensor(a).shape.elements() == 1);
    if (!shared_scalar && (a == kNoTensor || b == kNoTensor || !follows(a, b))) return false;
  }
  for (std::size_t i = 0; i < first.outputs.size(); ++i)
    if (first.outputs[i].accumulate != second.outputs[i].accumulate ||
        !follows(first.outputs[i].tensor, second.outputs[i].tensor))
      return false;
  return true;
}

}  // namespace

MemoryOptions memory_options(const Program& program, const KernelPlan& kernels) {
  MemoryOptions options{.alignment = kernels.alignment,
                        .padded_sizes = kernels.padded_sizes,
                        .shared_rows = kernels.shared_rows};
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const std::vector<PlannedKernel>& of_graph = kernels.graphs[g];
    options.without_memory.push_back(std::ranges::any_of(of_graph, is_fused)
                                         ? values_within(program.graphs[g], of_graph)
                                         : std::vector<char>{});
    std::vector<PlacementRules::Kernel>& fused = options.kernels.emplace_back();
    for (const PlannedKernel& kernel : of_graph)
      if (is_fused(kernel)) fused.push_back({kernel.first_op, kernel.end_op});
  }
  return options;
}

std::vector<OpRun> neighbouring_ops(const Program& program, std::size_t g, std::span<const OpKind> kinds) {
  const Graph& graph = program.graphs[g];
  const BucketOrder order(program.buckets);
  std::vector<OpRun> runs;
  for (const Section& section : program.sections) {
    if (section.graph != g) continue;
    for (std::uint32_t first = section.first_op; first < section.end_op;) {
      std::uint32_t end = first + 1;
      if (std::ranges::find(kinds, graph.ops()[first].kind) != kinds.end())
        while (end < section.end_op && continues(graph, order, graph.ops()[end - 1], graph.ops()[end])) ++end;
      if (end - first > 1) runs.push_back({first, end});
      first = end;
    }
  }
  std::ranges::sort(runs, {}, &OpRun::first);
  return runs;
}

}  // namespace nadi::inline engines
