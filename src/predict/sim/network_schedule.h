// A collective as the transfers of an algorithm, step after step: what the closed forms are the sum of
// (network_form.h) and what the flow model carries out (flow_network.h).
//
//   const GroupLayout layout = ...;
//   const CollectiveSchedule schedule =
//       schedule_of(CollectiveType::kAllReduce, CollectiveAlgorithm::kRing, layout);
//
// Members are numbered by device; sizes are shares of the request's size, which is that of a member's own
// input (of the root's, for broadcast and scatter).
//
// Which algorithm does what, for n members, N nodes with c members each, size S (all-gather and gather: of
// each member), latency a of a step and bandwidth B:
//
//   all-reduce      ring               2 (n-1) (a + S/nB)
//                   tree               2 (floor(log2 n) a + S/B), n > 2: double binary, both at once
//                                      over nodes: a chain in each node, trees between the nodes
//                   halving-doubling   2 (ceil(log2 n) a + (n-1)/n S/B)
//                   direct             2 (a + (n-1)/n S/B)
//                   hierarchical       reduce-scatter in the nodes, c all-reduces between, all-gather in the
//                   nodes
//   reduce-scatter  ring (n-1) (a + S/nB), halving-doubling, direct: half of an all-reduce; all-gather the
//   same
//                   with S for S/n
//   broadcast       ring               (n-1) a + S/B: a chain, in small pieces; reduce the same
//                   tree               ceil(log2 n) (a + S/B): binomial
//                   direct             a + (n-1) S/B
//   all-to-all      direct             a + (n-1)/n S/B; ring: pairs at distance 1 ... n-1, (n-1) (a + S/nB)
//                   halving-doubling   Bruck: ceil(log2 n) steps of about S/2
//                   hierarchical       in the nodes, then between equal places of the nodes
//   gather, scatter direct             a + (n-1) S/B (scatter: S/n), tree: binomial
//   barrier         an all-reduce of nothing
// Everything else falls back: tree and halving-doubling to ring, or to tree for rooted collectives; ring and
// hierarchical of all-to-all, gather and scatter to direct where not listed; hierarchical to ring where there
// is one node, one member per node, or a different number of members in the nodes (all-reduce, broadcast and
// reduce then go through the first member of each node).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

enum class CollectiveAlgorithm : std::uint8_t {
  kAuto,  // the fastest for the size and the members, of those that NCCL chooses from
  kRing,
  kTree,             // double binary
  kHalvingDoubling,  // recursive
  kDirect,           // everybody with everybody
  kHierarchical,     // within nodes, then between
};

std::vector<std::string_view> collective_algorithm_names();  // in the order of the enumerators
std::string_view to_string(CollectiveAlgorithm algorithm);   // "auto", "halving-doubling"
std::optional<CollectiveAlgorithm> collective_algorithm_named(std::string_view name);

struct GroupLayout {
  std::int32_t members = 0;
  std::int32_t root = 0;
  std::vector<std::vector<std::int32_t>> nodes;  // the members of each node, ascending
  bool both_ways =
      false;  // rings run in both directions at once, half of the data each: on ring and mesh fabrics
};

struct ScheduledTransfer {
  std::int32_t from = 0, to = 0;
  double share = 0;       // of the request's size
  std::int32_t tree = 0;  // of a double tree: 1 or 2; 0 means a part of both
};

enum class TransferOrder : std::uint8_t {
  kTogether,   // each member goes on when its own transfers of the step are done
  kRing,       // the same; what arrives is what goes on in the next step, so latencies differ along the ring
  kPipelined,  // data streams through the members in small pieces: bandwidth at once, latencies one after
               // another
};

struct ScheduleStep {
  TransferOrder order = TransferOrder::kTogether;
  std::int32_t repeat = 1;
  std::vector<ScheduledTransfer> transfers = {};
  // Besides: within each of these groups everybody sends `pair_share` to everybody.
  std::vector<std::vector<std::int32_t>> all_pairs = {};
  double pair_share = 0;
  // What crosses from node to node is cut up among the members there, so that all their cards are used.
  bool striped = false;
};

struct CollectiveSchedule {
  CollectiveAlgorithm algorithm{};  // what it came to be after falling back
  std::vector<ScheduleStep> steps;
};

CollectiveSchedule schedule_of(CollectiveType type, CollectiveAlgorithm algorithm, const GroupLayout& layout);

}  // namespace nadi::inline predict
