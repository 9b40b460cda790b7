// Which part of a run a timeline shows.
//
//   const TimelineSelection selection{.ranks = parse_number_ranges("0-3", "--ranks"), .from = 10ms in ns};
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nadi/base/number_ranges.h"
#include "nadi/base/units.h"

namespace nadi::inline show {

struct TimelineSelection {
  NumberRanges ranks = {};
  NumberRanges steps = {};  // events that name no step are left out unless all steps are shown
  // Events that overlap this window, counted from the first event of the first rank.
  std::optional<Nanoseconds> from = {}, to = {};
  // Lanes: "device", "host", the name of one ("stream 7", "communication") or the number in it ("7"); empty:
  // all.
  std::vector<std::string> streams = {};
};

}  // namespace nadi::inline show
