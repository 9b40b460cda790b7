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
#include "nadi/trace/node_type.h"

namespace nadi {

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

struct MeasuredCollectives {
  std::vector<MeasuredCollective> collectives = {};  // ascending by type, ranks, size
  std::vector<MeasuredMessage> messages = {};        // ascending by size

  bool empty() const { return collectives.empty() && messages.empty(); }
  bool operator==(const MeasuredCollectives&) const = default;

  // Nothing where this type was not measured with so many ranks.
  std::optional<Nanoseconds> collective(CollectiveType type, std::int32_t ranks, Bytes size) const;
  std::optional<Nanoseconds> message(Bytes size) const;
};

}  // namespace nadi
