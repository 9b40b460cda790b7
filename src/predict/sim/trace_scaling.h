// A recorded run of n ranks as one of more ranks: more replicas of the model, each as it was.
//
//   const TraceScaling scaling(set, {.tp = 2, .dp = 2, .pp = 2}, 32);   // 8 ranks were recorded; 32 run
//   scaling.trace_of(rank);                  // the number of the trace that this rank runs
//   scaling.group_of(rank, role);            // the ranks of its collective
//   scaling.size_of(request_type, size, role, rank);
//
// Ranks lie as rank = tp_place + tp * (cp_place + cp * (dp_place + dp * pp_place)), which is the order of
// Megatron and ours. What grows and what is repeated:
//
//   repeated  what a rank computes and its host does, tensor and context groups, messages between stages
//   grows     groups of all data-parallel ranks, of whatever tensor ranks and stages: to all of the new ones.
//             What a rank puts into an all-gather of such a group is its part of a whole, so the part
//             shrinks; an all-reduce, a reduce-scatter and an all-to-all keep their sizes
//   repeated  in blocks: groups of a part of the data-parallel ranks, which lie in a row (experts, hybrid
//             sharding); the ranks at equal places of all blocks grow to those of all new blocks
//
// Refused where it is not known: a group whose members are not known or are none of these, a message between
// replicas, a place of which no rank was recorded, and one replica that shows no communication with others.
// Tensor and pipeline degrees stay: another split computes something else, which no trace knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

class TraceSet;

struct TraceDegrees {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1;
  std::int64_t ep = 0;  // ranks that share experts, in a row within a data group; 0 means not said

  std::int64_t ranks() const { return tp * cp * dp * pp; }
  bool operator==(const TraceDegrees&) const = default;
};

// "tp=2,pp=4": of a run of so many ranks, whose dp is what is left if it is not said. Throws Error (usage).
TraceDegrees parse_trace_degrees(std::string_view text, std::int64_t ranks);

class TraceScaling {
 public:
  // Throws Error: usage where the new number of ranks is none of whole replicas, input where the traces say
  // too little.
  TraceScaling(const TraceSet& set, const TraceDegrees& recorded, std::int64_t ranks);

  std::int64_t ranks() const { return ranks_; }
  std::uint32_t trace_of(std::int64_t rank) const;

  struct Group {
    std::string name;  // the same for all its members
    std::vector<std::uint32_t> members;
  };
  // Group of a collective of that trace's role.
  Group group_of(std::int64_t rank, std::uint32_t role) const;
  // Peer of a message.
  std::int64_t peer_of(std::int64_t rank, std::uint32_t role) const;
  Bytes size_of(CollectiveType type, Bytes size, std::int64_t rank, std::uint32_t role) const;

 private:
  struct Place {
    std::int64_t inner = 0, data = 0, stage = 0;  // tensor and context rank; replica; stage
  };
  // What the members of a recorded group have in common.
  enum class DataShape : std::uint8_t { kOne, kAll, kBlock, kStride };
  struct Shape {
    std::vector<std::int64_t> inner, stages;
    DataShape data = DataShape::kOne;
    std::int64_t block = 1;  // kBlock: members in a row; kStride: their distance
    double growth = 1;       // members now, over those that were recorded
  };

  Place place_of(std::int64_t rank, std::int64_t data_degree) const;
  std::int64_t rank_at(const Place& place) const;
  Shape shape_of(std::uint32_t trace, std::uint32_t role) const;
  std::vector<std::int64_t> recorded_members(std::uint32_t trace, std::uint32_t role) const;

  const TraceSet& set_;
  TraceDegrees recorded_;
  std::int64_t ranks_ = 0;
  std::int64_t data_ = 1;                           // replicas now
  std::vector<std::vector<std::uint32_t>> traces_;  // by inner place and stage: those that were recorded
  std::map<std::pair<std::uint32_t, std::uint32_t>, Shape> shapes_;  // by trace and role
};

}  // namespace nadi::inline predict
