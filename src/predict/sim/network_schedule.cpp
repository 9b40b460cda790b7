#include "nadi/sim/network_schedule.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/sim/network_schedule_parts.h"

namespace nadi::inline predict {
namespace {

using Algorithm = CollectiveAlgorithm;
using Type = CollectiveType;

constexpr std::array<std::string_view, 6> kAlgorithmNames = {
    "auto", "ring", "tree", "halving-doubling", "direct", "hierarchical"};

std::vector<std::int32_t> everybody(const GroupLayout& layout) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(layout.members));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

// From the root on, round the ring of members.
std::vector<std::int32_t> from_root(const GroupLayout& layout) {
  std::vector<std::int32_t> members = everybody(layout);
  std::rotate(members.begin(), members.begin() + layout.root, members.end());
  return members;
}

bool has_equal_nodes(const GroupLayout& layout) {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(),
                     [&](const auto& node) { return node.size() == layout.nodes.front().size(); });
}

bool is_two_level(const GroupLayout& layout) {
  return layout.nodes.size() > 1 && static_cast<std::size_t>(layout.members) > layout.nodes.size();
}

// What the algorithm becomes where it is not defined for the collective.
Algorithm defined(Type type, Algorithm algorithm, const GroupLayout& layout) {
  const bool rooted_parts = type == Type::kGather || type == Type::kScatter;
  const bool rooted = type == Type::kBroadcast || type == Type::kReduce;
  const bool through_leaders = rooted || rooted_parts || type == Type::kAllReduce || type == Type::kBarrier;
  if (algorithm == Algorithm::kHierarchical &&
      (!is_two_level(layout) || (!has_equal_nodes(layout) && !through_leaders)))
    algorithm = Algorithm::kRing;
  if (algorithm == Algorithm::kHalvingDoubling && (rooted || rooted_parts)) algorithm = Algorithm::kTree;
  if (algorithm == Algorithm::kTree &&
      (type == Type::kAllGather || type == Type::kReduceScatter || type == Type::kReduceScatterBlock))
    algorithm = Algorithm::kRing;
  if (algorithm == Algorithm::kTree && type == Type::kAllToAll) algorithm = Algorithm::kDirect;
  if (algorithm == Algorithm::kRing && rooted_parts) algorithm = Algorithm::kDirect;
  return algorithm;
}

std::vector<ScheduleStep> ring_steps(Type type, const GroupLayout& layout, double size) {
  const std::int32_t n = layout.members;
  const std::vector<std::int32_t> ring = everybody(layout);
  switch (type) {
    case Type::kAllReduce:
    case Type::kBarrier:
      return {ring_step({ring}, size / n, 2 * (n - 1), layout.both_ways)};
    case Type::kReduceScatter:
    case Type::kReduceScatterBlock:
      return {ring_step({ring}, size / n, n - 1, layout.both_ways)};
    case Type::kAllGather:
      return {ring_step({ring}, size, n - 1, layout.both_ways)};
    case Type::kBroadcast:
      return {chain_step({from_root(layout)}, size, false)};
    case Type::kReduce:
      return {chain_step({from_root(layout)}, size, true)};
    case Type::kAllToAll: {
      std::vector<ScheduleStep> steps;
      for (std::int32_t distance = 1; distance < n; ++distance) {
        ScheduleStep step;
        for (std::int32_t i = 0; i < n; ++i) step.transfers.push_back({i, (i + distance) % n, size / n});
        steps.push_back(std::move(step));
      }
      return steps;
    }
    case Type::kGather:
    case Type::kScatter:
      break;
  }
  check(false, "a ring of a collective that has none");
  return {};
}

std::vector<ScheduleStep> tree_steps(Type type, const GroupLayout& layout, double size) {
  const std::vector<std::int32_t> members = from_root(layout);
  const double part = size / layout.members;
  switch (type) {
    case Type::kAllReduce:
    case Type::kBarrier:
      return {double_tree_step(layout, size, true), double_tree_step(layout, size, false)};
    case Type::kBroadcast:
      return binomial_steps(members, false, [&](std::int32_t) { return size; });
    case Type::kReduce:
      return binomial_steps(members, true, [&](std::int32_t) { return size; });
    case Type::kScatter:
      return binomial_steps(members, false, [&](std::int32_t below) { return part * below; });
    case Type::kGather:
      return binomial_steps(members, true, [&](std::int32_t below) { return size * below; });
    default:
      break;
  }
  check(false, "a tree of a collective that has none");
  return {};
}

std::vector<ScheduleStep> halving_doubling_steps(Type type, const GroupLayout& layout, double size) {
  const std::int32_t n = layout.members;
  std::vector<ScheduleStep> steps;
  const auto append = [&](std::vector<ScheduleStep> more) {
    steps.insert(steps.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  switch (type) {
    case Type::kAllReduce:
      append(halving_steps(n, size / n));
      append(doubling_steps(n, size / n));
      return steps;
    case Type::kBarrier:  // everybody has heard of everybody after one half
      append(doubling_steps(n, 0));
      return steps;
    case Type::kReduceScatter:
    case Type::kReduceScatterBlock:
      append(halving_steps(n, size / n));
      return steps;
    case Type::kAllGather:
      append(doubling_steps(n, size));
      return steps;
    case Type::kAllToAll:
      for (std::int32_t distance = 1; distance < n; distance *= 2) {
        std::int32_t blocks = 0;
        for (std::int32_t block = 1; block < n; ++block) blocks += (block & distance) != 0 ? 1 : 0;
        ScheduleStep step;
        for (std::int32_t i = 0; i < n; ++i)
          step.transfers.push_back({i, (i + distance) % n, size / n * blocks});
        steps.push_back(std::move(step));
      }
      return steps;
    default:
      break;
  }
  check(false, "halving and doubling of a collective that has none");
  return {};
}

std::vector<ScheduleStep> direct_steps(Type type, const GroupLayout& layout, double size) {
  const std::int32_t n = layout.members;
  const auto pairs = [&](double share) {
    ScheduleStep step;
    step.all_pairs = {everybody(layout)};
    step.pair_share = share;
    return step;
  };
  const auto star = [&](double share, bool to_root) {
    ScheduleStep step;
    for (std::int32_t i = 0; i < n; ++i) {
      if (i == layout.root) continue;
      step.transfers.push_back(to_root ? ScheduledTransfer{i, layout.root, share}
                                       : ScheduledTransfer{layout.root, i, share});
    }
    return step;
  };
  switch (type) {
    case Type::kAllReduce:
      return {pairs(size / n), pairs(size / n)};
    case Type::kBarrier:
      return {pairs(0)};
    case Type::kReduceScatter:
    case Type::kReduceScatterBlock:
    case Type::kAllToAll:
      return {pairs(size / n)};
    case Type::kAllGather:
      return {pairs(size)};
    case Type::kBroadcast:
      return {star(size, false)};
    case Type::kReduce:
    case Type::kGather:
      return {star(size, true)};
    case Type::kScatter:
      return {star(size / n, false)};
  }
  return {};
}

}  // namespace

std::vector<std::string_view> collective_algorithm_names() {
  return {kAlgorithmNames.begin(), kAlgorithmNames.end()};
}

std::string_view to_string(CollectiveAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::optional<CollectiveAlgorithm> collective_algorithm_named(std::string_view name) {
  const auto found = std::find(kAlgorithmNames.begin(), kAlgorithmNames.end(), name);
  if (found == kAlgorithmNames.end()) return std::nullopt;
  return static_cast<CollectiveAlgorithm>(found - kAlgorithmNames.begin());
}

CollectiveSchedule schedule_of(CollectiveType type, CollectiveAlgorithm algorithm,
                               const GroupLayout& layout) {
  check(algorithm != Algorithm::kAuto, "a schedule of an algorithm that is still to be chosen");
  CollectiveSchedule schedule{.algorithm = defined(type, algorithm, layout), .steps = {}};
  if (layout.members < 2) return schedule;
  const double size = type == Type::kBarrier ? 0 : 1;
  switch (schedule.algorithm) {
    case Algorithm::kAuto:
      break;
    case Algorithm::kRing:
      schedule.steps = ring_steps(type, layout, size);
      break;
    case Algorithm::kTree:
      schedule.steps = tree_steps(type, layout, size);
      break;
    case Algorithm::kHalvingDoubling:
      schedule.steps = halving_doubling_steps(type, layout, size);
      break;
    case Algorithm::kDirect:
      schedule.steps = direct_steps(type, layout, size);
      break;
    case Algorithm::kHierarchical:
      schedule.steps =
          has_equal_nodes(layout) ? two_level_steps(type, layout, size) : leader_steps(type, layout, size);
      break;
  }
  return schedule;
}

}  // namespace nadi::inline predict
