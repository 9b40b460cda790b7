#include "nadi/convert/kernel_work.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace nadi::inline traces {
namespace {

constexpr TorchWork kUnknown{.flops = Flops{1}, .bytes = Bytes{1}};

// An op, and how long all kernels lasted that do its work.
struct LaunchingOp {
  TorchWork work;
  std::int64_t nanoseconds = 0;
};

class WorkOfOps {
 public:
  explicit WorkOfOps(const KernelWorkSource& source) : source_(source) {}

  // The op that a kernel works for, or kNoNode.
  std::uint32_t op_of(std::uint32_t kernel) {
    const LinkGraph& graph = source_.graph;
    for (std::uint32_t node = graph.parent[kernel]; node != kNoNode; node = graph.parent[node])
      if (work_of(node)) return node;
    return kNoNode;
  }

  LaunchingOp& op(std::uint32_t node) { return *known_.at(node); }

 private:
  bool work_of(std::uint32_t node) {
    const auto [entry, is_new] = known_.try_emplace(node);
    if (!is_new) return entry->second.has_value();
    const LinkGraph& graph = source_.graph;
    std::optional<TorchWork> work;
    if (const auto host_row = source_.match.row_of(graph, node)) {
      const Trace& nodes = source_.host->nodes;
      work = torch_work(nodes.name(*host_row), nodes.inputs(*host_row), nodes.outputs(*host_row));
    } else if (graph.kind[node] == LinkedKind::kHost) {
      const Trace& events = source_.kineto.events;
      const std::uint32_t row = graph.row[node];
      work = torch_work(events.name(row), events.inputs(row), events.outputs(row));
    }
    if (work) entry->second = LaunchingOp{.work = *work};
    return work.has_value();
  }

  const KernelWorkSource& source_;
  std::unordered_map<std::uint32_t, std::optional<LaunchingOp>> known_;  // looked up only
};

std::optional<TorchWork> work_of_copy(const KinetoTrace& kineto, std::uint32_t row) {
  const std::optional<TraceAttribute> bytes = kineto.events.find_attribute(row, "bytes");
  const std::optional<std::int64_t> size = bytes ? bytes->integer() : std::nullopt;
  if (!size || *size <= 0) return std::nullopt;
  return TorchWork{.flops = Flops{1}, .bytes = Bytes{*size}};
}

std::int64_t part_of(std::int64_t whole, std::int64_t part, std::int64_t all) {
  const double share = static_cast<double>(whole) * static_cast<double>(part) / static_cast<double>(all);
  constexpr double kMost = 9e18;  // fits an int64
  return static_cast<std::int64_t>(std::clamp(share, 1.0, kMost));
}

}  // namespace

KernelWork::KernelWork(const KernelWorkSource& source) : work_(source.graph.size(), kUnknown) {
  const LinkGraph& graph = source.graph;
  WorkOfOps ops(source);
  std::vector<std::uint32_t> op_of(graph.size(), kNoNode);
  // Kernels that lasted no time at all count as 1 ns each.
  const auto lasted = [&](std::uint32_t node) {
    return std::max<std::int64_t>(graph.duration[node].count(), 1);
  };
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    if (graph.kind[node] != LinkedKind::kDevice || source.communicates[node]) continue;
    if (source.kineto.category[graph.row[node]] != KinetoCategory::kKernel) {
      const std::optional<TorchWork> copied = work_of_copy(source.kineto, graph.row[node]);
      ++(copied ? known_ : unknown_);
      if (copied) work_[node] = *copied;
      continue;
    }
    op_of[node] = ops.op_of(node);
    // The op around it did work that nothing tells: not that of an op further out, either.
    if (op_of[node] != kNoNode && !ops.op(op_of[node]).work.known) op_of[node] = kNoNode;
    if (op_of[node] != kNoNode) ops.op(op_of[node]).nanoseconds += lasted(node);
    ++(op_of[node] != kNoNode ? known_ : unknown_);
  }
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    if (op_of[node] == kNoNode) continue;
    const LaunchingOp& op = ops.op(op_of[node]);
    work_[node] = {.flops = Flops{part_of(op.work.flops.count(), lasted(node), op.nanoseconds)},
                   .bytes = Bytes{part_of(op.work.bytes.count(), lasted(node), op.nanoseconds)}};
  }
}

}  // namespace nadi::inline traces
