// Streams of a rank: lines along which work goes on by itself, in order, as those of a GPU do. Work of
// different streams overlaps, unless one waits for an event of the other.
//
// A program says on which stream each op belongs: computation on one; the collectives of each kind of group,
// the messages that are sent and those that are received on one each, so that none holds up another. An
// engine may have fewer, and says in its records which one it used.
#pragma once

#include <cstdint>

#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

enum class StreamId : std::uint32_t {};
constexpr std::uint32_t to_number(StreamId stream) {
  return static_cast<std::uint32_t>(stream);
}

inline constexpr StreamId kComputeStream{0};
inline constexpr StreamId kSendStream{1};
inline constexpr StreamId kReceiveStream{2};
constexpr StreamId collective_stream(GroupKind group) {
  return StreamId{3 + static_cast<std::uint32_t>(group)};
}
inline constexpr std::uint32_t kStreamCount = 3 + kGroupKindCount;

}  // namespace nadi::inline describe
