#include "nadi/graph/shard.h"

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

// Where along the axis before this split the elements of the local axis are.
std::vector<std::int64_t> positions(const Shard& shard, std::int64_t local_extent, std::int64_t place) {
  std::vector<std::int64_t> segments = shard.segments;
  if (segments.empty()) segments = {local_extent * shard.parts};
  std::vector<std::int64_t> result;
  std::int64_t start = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    check(segments[s] % shard.parts == 0, "a segment does not divide over its group");
    const std::int64_t share = segments[s] / shard.parts;
    const std::int64_t own = shard.zigzag && s % 2 == 1 ? shard.parts - 1 - place : place;
    for (std::int64_t i = 0; i < share; ++i) result.push_back(start + own * share + i);
    start += segments[s];
  }
  check(static_cast<std::int64_t>(result.size()) == local_extent, "a shard does not fit its tensor");
  return result;
}

}  // namespace

Shard zigzag_shard(std::string group, std::int64_t parts, int axis, std::int64_t extent) {
  return {.group = std::move(group),
          .parts = parts,
          .axis = axis,
          .segments = {extent / 2, extent / 2},
          .zigzag = true};
}

Shape whole_shape(const Shape& local, std::span<const Shard> shards) {
  Shape whole = local;
  for (const Shard& shard : shards) whole.set(shard.axis, whole[shard.axis] * shard.parts);
  return whole;
}

std::vector<std::int64_t> whole_indices(const Shape& local, std::span<const Shard> shards,
                                        const PlaceInGroup& place) {
  const Shape whole = whole_shape(local, shards);
  // Per axis: local coordinate to whole coordinate, from the last split back to the first.
  std::vector<std::vector<std::int64_t>> along(local.rank());
  for (int axis = 0; axis < local.rank(); ++axis) {
    along[axis].resize(local[axis]);
    for (std::int64_t i = 0; i < local[axis]; ++i) along[axis][i] = i;
  }
  for (std::size_t s = shards.size(); s-- > 0;) {
    const Shard& shard = shards[s];
    std::int64_t extent = local[shard.axis];
    for (std::size_t later = s + 1; later < shards.size(); ++later)
      if (shards[later].axis == shard.axis) extent *= shards[later].parts;
    const std::vector<std::int64_t> map = positions(shard, extent, place(shard.group));
    for (std::int64_t& at : along[shard.axis]) at = map[at];
  }
  std::vector<std::int64_t> result{0};
  for (int axis = 0; axis < local.rank(); ++axis) {
    std::vector<std::int64_t> longer;
    longer.reserve(result.size() * local[axis]);
    for (const std::int64_t outer : result)
      for (const std::int64_t at : along[axis]) longer.push_back(outer * whole[axis] + at);
    result = std::move(longer);
  }
  return result;
}

}  // namespace nadi::inline describe
