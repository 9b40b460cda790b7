// The events of a profile by lane (thread or stream), in the order of time: an event that encloses others
// comes before them.
//
//   const EventLanes lanes(kineto, wanted);             // a bit for each row of the profile
//   for (std::uint32_t row : lanes.rows(lane)) ...
//
// Files have the events of a lane in a few runs that are in order (ops, then calls of the runtime), so runs
// are merged: one pass where a lane is in order, two or three otherwise. Takes 4 bytes an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

class EventLanes {
 public:
  EventLanes(const KinetoTrace& kineto, const std::vector<bool>& wanted);  // by row

  std::span<const std::uint32_t> rows(std::size_t lane) const {
    return {rows_.data() + begins_[lane], begins_[lane + 1] - begins_[lane]};
  }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<std::size_t> begins_;  // by lane, and one more
  std::vector<std::uint32_t> rows_;
};

}  // namespace nadi::inline traces
