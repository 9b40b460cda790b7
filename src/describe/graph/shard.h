// Which part of a whole tensor a rank holds.
//
// A shard splits one axis evenly over the members of a group. Where the axis is made of several segments
// (packed queries, keys and values), each segment is split, and a rank holds its part of each, one after the
// other. A zigzag shard has two segments, the second dealt out in reverse: what balances causal attention
// over context ranks. Several shards apply one after the other: the second splits what the first left.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/shape.h"

namespace nadi::inline describe {

struct Shard {
  std::string group;       // as the graph's communication names it: "tp"
  std::int64_t parts = 1;  // members of the group
  int axis = 0;
  std::vector<std::int64_t> segments =
      {};  // extents along the axis, before this split; empty means one segment
  bool zigzag = false;

  bool operator==(const Shard&) const = default;
};

// Two halves, the second dealt out in reverse.
Shard zigzag_shard(std::string group, std::int64_t parts, int axis, std::int64_t extent);

// The shape of the whole tensor of which `local` is a part.
Shape whole_shape(const Shape& local, std::span<const Shard> shards);

// A rank's place in a named group.
using PlaceInGroup = std::function<std::int64_t(const std::string& group)>;

// For each element of the local tensor, in order, its index in the whole tensor.
std::vector<std::int64_t> whole_indices(const Shape& local, std::span<const Shard> shards,
                                        const PlaceInGroup& place);

}  // namespace nadi::inline describe
