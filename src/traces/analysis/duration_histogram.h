// How many nodes of the device lasted how long, by activity.
//
//   DurationHistogram durations;
//   durations.add(timeline);                              // each rank
//   for (const DurationBin& bin : durations.bins()) use(bin.activity, bin.from, bin.to, bin.nodes, bin.time);
//
// Bins begin at 1, 2 and 5 times a power of ten nanoseconds; the first holds what lasted no time. Needs
// times.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// Durations of at least `from` and below `to`.
struct DurationBin {
  Activity activity = Activity::kNone;
  Nanoseconds from = {}, to = {};
  std::int64_t nodes = 0;
  Nanoseconds time = {};  // summed
};

class DurationHistogram {
 public:
  void add(const Timeline& timeline);

  // Compute, communication, memory; the shortest first. Bins without nodes are left out.
  std::vector<DurationBin> bins() const;

 private:
  struct Sum {
    std::int64_t nodes = 0;
    Nanoseconds time = {};
  };
  std::map<std::pair<Activity, std::int64_t>, Sum> sums_;  // by the begin of the bin
};

}  // namespace nadi::inline traces
