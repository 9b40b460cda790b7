// What communication took among the devices of a node, as `nadi calibrate` measures it: a table that wins
// over the model of the network where it has an answer. Between two sizes the time is interpolated on
// logarithmic scales; beyond the largest it grows with the size.
//
//   if (const auto time = table.collective(CollectiveType::kAllReduce, 2, size)) ...
//   if (const auto time = table.message(size)) ...
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/collective_type.h"

namespace nadi::inline describe {

struct MeasuredCollective {
  CollectiveType type{};
  std::int32_t ranks = 2;
  Bytes size = {};  // of the member's own input, as in traces (comm_size)
  Nanoseconds time = {};

  bool operator==(const MeasuredCollective&) const = default;
};

struct MeasuredMessage {
  Bytes size = {};
  Nanoseconds time = {};

  bool operator==(const MeasuredMessage&) const = default;
};

// Ranks that do the same come apart: a collective that they come to so long after their last one waits so
// much longer for the last of them than the mean rank takes (calibrate/rank_skew.h).
struct MeasuredSkew {
  Nanoseconds after = {}, wait = {};

  bool operator==(const MeasuredSkew&) const = default;
};

struct MeasuredCollectives {
  std::vector<MeasuredCollective> collectives = {};  // ascending by type, ranks, size
  std::vector<MeasuredMessage> messages = {};        // ascending by size
  std::vector<MeasuredSkew> skew = {};               // ascending by `after`

  bool empty() const { return collectives.empty() && messages.empty(); }
  bool operator==(const MeasuredCollectives&) const = default;

  // Nothing where this type was not measured with so many ranks.
  std::optional<Nanoseconds> collective(CollectiveType type, std::int32_t ranks, Bytes size) const;
  std::optional<Nanoseconds> message(Bytes size) const;
  // Between two rows on a line, below the first in proportion, beyond the last as much as there. 0 without
  // rows.
  Nanoseconds wait_after(Nanoseconds time) const;
};

}  // namespace nadi::inline describe
