// Steps that the schedules of collectives are made of (network_schedule.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nadi/sim/network_schedule.h"

namespace nadi::inline predict {

using MemberList = std::vector<std::int32_t>;

// All rings at once; each member sends `share` to the next one, `repeat` times.
ScheduleStep ring_step(const std::vector<MemberList>& rings, double share, std::int32_t repeat,
                       bool both_ways);

// `share` streams along each chain from its first member to the last, or (backwards) from the last to the
// first.
ScheduleStep chain_step(const std::vector<MemberList>& chains, double share, bool backwards);

// Half of `share` up or down each of two binary trees over the nodes, with a chain in each node that has
// several members. Who is inside one tree is a leaf of the other.
ScheduleStep double_tree_step(const GroupLayout& layout, double share, bool up);

// ceil(log2 n) steps from the first member to all, or (backwards) from all to the first; the share of a
// transfer depends on how many members it is for.
std::vector<ScheduleStep> binomial_steps(const MemberList& members, bool backwards,
                                         const std::function<double(std::int32_t)>& share_for);

// ceil(log2 n) steps after which everybody has everybody's part; halving is the same backwards. Partners are
// at distances of powers of two: pairs that exchange where n is one, else round the members, as Bruck has it.
std::vector<ScheduleStep> doubling_steps(std::int32_t members, double part);
std::vector<ScheduleStep> halving_steps(std::int32_t members, double part);

// Hierarchical: with as many members in each node; through the first member of each node.
std::vector<ScheduleStep> two_level_steps(CollectiveType type, const GroupLayout& layout, double size);
std::vector<ScheduleStep> leader_steps(CollectiveType type, const GroupLayout& layout, double size);

}  // namespace nadi::inline predict
