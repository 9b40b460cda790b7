#include "nadi/sim/network_schedule_parts.h"

#include <algorithm>
#include <bit>

namespace nadi::inline predict {
namespace {

constexpr std::int32_t lowest_bit(std::int32_t x) {
  return x & -x;
}

// A binary tree over 1 ... n in which the odd numbers are leaves: x stands above the numbers nearest to it
// that have a lower lowest bit. Calls edge(parent, child) with numbers from 0.
template <typename Edge>
void for_tree_edges(std::int32_t n, const Edge& edge) {
  for (std::int32_t x = 2; x <= n; x += 2) {
    const std::int32_t half = lowest_bit(x) / 2;
    edge(x - 1, x - half - 1);
    std::int32_t right = x + half;
    while (right > n && lowest_bit(right) > 1) right -= lowest_bit(right) / 2;
    if (right <= n && right > x) edge(x - 1, right - 1);
  }
}

}  // namespace

ScheduleStep ring_step(const std::vector<MemberList>& rings, double share, std::int32_t repeat,
                       bool both_ways) {
  ScheduleStep step{.order = TransferOrder::kRing, .repeat = repeat, .striped = true};
  for (const MemberList& ring : rings) {
    const std::size_t n = ring.size();
    if (n < 2) continue;
    const bool both = both_ways && n > 2;
    for (std::size_t i = 0; i < n; ++i) {
      step.transfers.push_back({ring[i], ring[(i + 1) % n], both ? share / 2 : share});
      if (both) step.transfers.push_back({ring[i], ring[(i + n - 1) % n], share / 2});
    }
  }
  return step;
}

ScheduleStep chain_step(const std::vector<MemberList>& chains, double share, bool backwards) {
  ScheduleStep step{.order = TransferOrder::kPipelined, .striped = true};
  for (const MemberList& chain : chains) {  // in the order in which data goes
    for (std::size_t i = 1; i < chain.size(); ++i) {
      const std::size_t last = chain.size() - i;
      step.transfers.push_back(backwards ? ScheduledTransfer{chain[last], chain[last - 1], share}
                                         : ScheduledTransfer{chain[i - 1], chain[i], share});
    }
  }
  return step;
}

ScheduleStep double_tree_step(const GroupLayout& layout, double share, bool up) {
  std::vector<MemberList> chains = layout.nodes;
  if (layout.nodes.size() == 1) {  // one node: the trees are over its members
    chains.clear();
    for (const std::int32_t member : layout.nodes.front()) chains.push_back({member});
  }
  ScheduleStep step = chain_step(chains, share, up);
  const std::int32_t n = static_cast<std::int32_t>(chains.size());
  const auto leader = [&](std::int32_t i) { return chains[static_cast<std::size_t>(i)].front(); };
  for_tree_edges(n, [&](std::int32_t parent, std::int32_t child) {
    const auto add = [&](std::int32_t tree, std::int32_t above, std::int32_t below) {
      step.transfers.push_back(up ? ScheduledTransfer{leader(below), leader(above), share / 2, tree}
                                  : ScheduledTransfer{leader(above), leader(below), share / 2, tree});
    };
    add(1, parent, child);
    if (n % 2 == 0)
      add(2, n - 1 - parent, n - 1 - child);
    else
      add(2, (parent + 1) % n, (child + 1) % n);
  });
  return step;
}

std::vector<ScheduleStep> binomial_steps(const MemberList& members, bool backwards,
                                         const std::function<double(std::int32_t)>& share_for) {
  const std::int32_t n = static_cast<std::int32_t>(members.size());
  std::vector<ScheduleStep> steps;
  for (std::int32_t distance = static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(n))) / 2;
       distance >= 1; distance /= 2) {
    ScheduleStep step;
    for (std::int32_t i = 0; i + distance < n; i += 2 * distance) {
      const std::int32_t one = members[static_cast<std::size_t>(i)];
      const std::int32_t other = members[static_cast<std::size_t>(i + distance)];
      const double share = share_for(std::min(distance, n - i - distance));
      step.transfers.push_back(backwards ? ScheduledTransfer{other, one, share}
                                         : ScheduledTransfer{one, other, share});
    }
    steps.push_back(std::move(step));
  }
  if (backwards) std::reverse(steps.begin(), steps.end());
  return steps;
}

std::vector<ScheduleStep> doubling_steps(std::int32_t members, double part) {
  const bool pairs = std::has_single_bit(static_cast<std::uint32_t>(members));
  std::vector<ScheduleStep> steps;
  for (std::int32_t distance = 1; distance < members; distance *= 2) {
    ScheduleStep step;
    const double share = part * std::min(distance, members - distance);
    for (std::int32_t i = 0; i < members; ++i)
      step.transfers.push_back({i, pairs ? i ^ distance : (i + members - distance) % members, share});
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<ScheduleStep> halving_steps(std::int32_t members, double part) {
  std::vector<ScheduleStep> steps = doubling_steps(members, part);
  std::reverse(steps.begin(), steps.end());
  for (ScheduleStep& step : steps)
    for (ScheduledTransfer& transfer : step.transfers) std::swap(transfer.from, transfer.to);
  return steps;
}

}  // namespace nadi::inline predict
