#include "nadi/sim/shared_node.h"

#include <algorithm>
#include <map>

namespace nadi::inline predict {
namespace {

constexpr int kSharedNodeRounds = 4;

// Spans in order, those that touch as one.
std::vector<NodeTime> merged_spans(std::vector<NodeTime> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const NodeTime& a, const NodeTime& b) { return a.start < b.start; });
  std::vector<NodeTime> merged;
  for (const NodeTime& span : spans) {
    if (span.end <= span.start) continue;
    if (!merged.empty() && span.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, span.end);
    else
      merged.push_back(span);
  }
  return merged;
}

Nanoseconds total_of(const std::vector<NodeTime>& spans) {
  Nanoseconds total{};
  for (const NodeTime& span : spans) total += span.end - span.start;
  return total;
}

// How long both are under way.
Nanoseconds overlap_of(const std::vector<NodeTime>& a, const std::vector<NodeTime>& b) {
  Nanoseconds both{};
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Nanoseconds start = std::max(a[i].start, b[j].start), end = std::min(a[i].end, b[j].end);
    if (end > start) both += end - start;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return both;
}

DeviceId device_of(const SimulationOptions& options, std::int64_t rank) {
  return options.placement.empty() ? DeviceId{static_cast<std::int32_t>(rank)}
                                   : options.placement[static_cast<std::size_t>(rank)];
}

}  // namespace

bool has_shared_nodes(const Cluster& cluster) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](std::int32_t kind) {
    return cluster.kinds[static_cast<std::size_t>(kind)].alone_speedup > 1;
  });
}

SimulationResult with_shared_nodes(SimulationResult first, const Cluster& cluster,
                                   const SimulationOptions& options, const ComputationOf& computation,
                                   const Simulate& simulate) {
  std::map<std::int32_t, std::vector<std::int64_t>> nodes;  // ranks of nodes with such a figure
  for (std::int64_t rank = 0; rank < first.ranks; ++rank) {
    const std::int32_t node = cluster.node_of(device_of(options, rank));
    if (cluster.node(node).alone_speedup > 1) nodes[node].push_back(rank);
  }
  std::erase_if(nodes, [](const auto& node) { return node.second.size() < 2; });
  if (nodes.empty()) return first;

  std::map<std::int64_t, double> asked;  // by rank, what the user wants slowed down
  for (const SlowRank& slow : options.slow) asked[to_number(slow.rank)] = slow.factor;
  SimulationResult result = std::move(first);
  for (int round = 0; round < kSharedNodeRounds; ++round) {
    std::map<std::int64_t, double> factors = asked;
    for (const auto& [node, ranks] : nodes) {
      std::vector<std::vector<NodeTime>> busy;
      for (const std::int64_t rank : ranks)
        busy.push_back(merged_spans(computation(result, Rank{static_cast<std::int32_t>(rank)})));
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const double own = static_cast<double>(total_of(busy[i]).count());
        if (own <= 0) continue;
        double shared = 0;  // in the mean over the neighbours
        for (std::size_t j = 0; j < ranks.size(); ++j)
          if (j != i) shared += static_cast<double>(overlap_of(busy[i], busy[j]).count()) / own;
        shared /= static_cast<double>(ranks.size() - 1);
        const double factor = shared + (1 - shared) / cluster.node(node).alone_speedup;
        factors[ranks[i]] = factor * (asked.contains(ranks[i]) ? asked[ranks[i]] : 1);
      }
    }
    SimulationOptions shared_options = options;
    shared_options.slow.clear();
    for (const auto& [rank, factor] : factors)
      shared_options.slow.push_back({.rank = Rank{static_cast<std::int32_t>(rank)}, .factor = factor});
    result = simulate(shared_options);
  }
  return result;
}

}  // namespace nadi::inline predict
