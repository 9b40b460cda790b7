// What the writers of JSON share: an event's details and figures as members of an object, and the origin of
// times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

// The start of the first event; 0 where there is none.
std::int64_t first_start(const TimelineView& view);

// Appends `, "name": value` for each detail, figure and the micro-batch of the events of a lane, which are
// asked for in the order of their indices. A detail that has the name of another member is passed over.
class EventMembers {
 public:
  EventMembers(const TimelineView& view, std::uint32_t lane);
  void append(std::string& out, std::uint32_t index);

 private:
  const TimelineView& view_;
  const TimelineView::Events& events_;
  std::vector<std::size_t> next_;          // by column: the first figure that is not before the event
  std::vector<std::string> column_names_;  // with their quotes
};

}  // namespace nadi::inline show
