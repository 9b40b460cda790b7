// Hierarchical collectives: inside the nodes and between them, one after the other.
#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/sim/network_schedule_parts.h"

namespace nadi::inline predict {
namespace {

using TwoLevelType = CollectiveType;

// The members at the same place of all nodes: place 0 of every node, place 1 ...
std::vector<MemberList> across_nodes(const GroupLayout& layout) {
  std::vector<MemberList> across(layout.nodes.front().size());
  for (const MemberList& node : layout.nodes)
    for (std::size_t place = 0; place < node.size(); ++place) across[place].push_back(node[place]);
  return across;
}

// The nodes with the root's first, and the root first of its node.
std::vector<MemberList> nodes_from_root(const GroupLayout& layout) {
  std::vector<MemberList> nodes = layout.nodes;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    const auto root = std::find(node->begin(), node->end(), layout.root);
    if (root == node->end()) continue;
    std::rotate(node->begin(), root, node->end());
    std::rotate(nodes.begin(), node, nodes.end());
    break;
  }
  return nodes;
}

MemberList leaders_of(const std::vector<MemberList>& nodes) {
  MemberList leaders;
  for (const MemberList& node : nodes) leaders.push_back(node.front());
  return leaders;
}

// Without stripes: each transfer between nodes belongs to its own two members already.
ScheduleStep rings_between(const std::vector<MemberList>& rings, double share, std::int32_t repeat) {
  ScheduleStep step = ring_step(rings, share, repeat, false);
  step.striped = false;
  return step;
}

}  // namespace

std::vector<ScheduleStep> two_level_steps(CollectiveType type, const GroupLayout& layout, double size) {
  const std::int32_t nodes = static_cast<std::int32_t>(layout.nodes.size());
  const std::int32_t inside = static_cast<std::int32_t>(layout.nodes.front().size());
  const std::vector<MemberList> across = across_nodes(layout);
  const auto in_nodes = [&](double share) {
    return ring_step(layout.nodes, share, inside - 1, layout.both_ways);
  };
  switch (type) {
    case TwoLevelType::kAllReduce:
    case TwoLevelType::kBarrier:
      return {in_nodes(size / inside), rings_between(across, size / inside / nodes, 2 * (nodes - 1)),
              in_nodes(size / inside)};
    case TwoLevelType::kReduceScatter:
    case TwoLevelType::kReduceScatterBlock:
      return {in_nodes(size / inside), rings_between(across, size / inside / nodes, nodes - 1)};
    case TwoLevelType::kAllGather:
      return {rings_between(across, size, nodes - 1), in_nodes(size * nodes)};
    case TwoLevelType::kAllToAll: {
      ScheduleStep within, between;
      within.all_pairs = layout.nodes;
      within.pair_share = size / inside;
      between.all_pairs = across;
      between.pair_share = size / nodes;
      return {within, between};
    }
    default:
      return leader_steps(type, layout, size);
  }
}

std::vector<ScheduleStep> leader_steps(CollectiveType type, const GroupLayout& layout, double size) {
  const std::vector<MemberList> nodes = nodes_from_root(layout);
  const MemberList leaders = leaders_of(nodes);
  const double count = static_cast<double>(leaders.size());
  // Between the root's node and the others, parts of all members of a node at once.
  const auto parts = [&](double part, bool to_root) {
    ScheduleStep between, within;
    for (const MemberList& node : nodes) {
      const double all = part * static_cast<double>(node.size());
      if (node.front() != layout.root)
        between.transfers.push_back(to_root ? ScheduledTransfer{node.front(), layout.root, all}
                                            : ScheduledTransfer{layout.root, node.front(), all});
      for (std::size_t i = 1; i < node.size(); ++i)
        within.transfers.push_back(to_root ? ScheduledTransfer{node[i], node.front(), part}
                                           : ScheduledTransfer{node.front(), node[i], part});
    }
    return to_root ? std::vector{within, between} : std::vector{between, within};
  };
  switch (type) {
    case TwoLevelType::kAllReduce:
    case TwoLevelType::kBarrier:
      return {chain_step(nodes, size, true),
              ring_step({leaders}, size / count, 2 * (static_cast<std::int32_t>(count) - 1), false),
              chain_step(nodes, size, false)};
    case TwoLevelType::kBroadcast:
      return {chain_step({leaders}, size, false), chain_step(nodes, size, false)};
    case TwoLevelType::kReduce:
      return {chain_step(nodes, size, true), chain_step({leaders}, size, true)};
    case TwoLevelType::kGather:
      return parts(size, true);
    case TwoLevelType::kScatter:
      return parts(size / layout.members, false);
    default:
      break;
  }
  check(false, "a hierarchical collective that has none");
  return {};
}

}  // namespace nadi::inline predict
