// The figures of a timeline: what it shows of each rank, and what it left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline show {

struct TimelineRankSummary {
  std::int64_t rank = 0;
  std::string file = {};
  std::int64_t events = 0;
  std::int64_t lanes = 0;
  // Over the events shown, each with its whole duration: events at the same time count twice.
  Nanoseconds compute = {}, communication = {}, memory = {}, host = {};
  // About the device, whatever is shown: from its first start to its last end, and while it did nothing.
  Nanoseconds span = {}, idle = {};
};

struct TimelineSummary {
  std::vector<TimelineRankSummary> ranks = {};  // by rank
  std::int64_t events = 0;
  std::int64_t messages = 0;     // pairs of send and receive
  std::int64_t collectives = 0;  // that several ranks took part in
  std::int64_t launches = 0;
  std::int64_t dependencies = 0;
  std::int64_t left_out = 0;         // events that the selection leaves out
  std::int64_t without_times = 0;    // nodes
  Nanoseconds start = {}, end = {};  // of what is shown
};

}  // namespace nadi::inline show
