// How the host fed the device: what its launch calls took, how long launched work waited, and how many
// launched pieces of work stood in the queue of each stream.
//
//   const LaunchStatistics launches = launch_statistics(timeline);
//   for (const QueueRow& queue : queue_lengths(timeline)) use(queue.stream, queue.longest);
//
// A call's duration is that with all nested in it. The delay is from the end of the call to the start on the
// device, 0 where that started before the call returned. The queue grows when a launch call starts and
// shrinks when its work starts, as in Holistic Trace Analysis; its thresholds are the defaults here, too.
// Nodes without a launch are not counted. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

struct LaunchOptions {
  Nanoseconds long_call{50'000};
  Nanoseconds long_delay{100'000};
  std::int64_t full_queue = 1024;  // at which CUDA lets the host wait
};

// Quantiles are those of the sorted values at (n - 1) q, rounded down.
struct Distribution {
  std::int64_t count = 0;
  Nanoseconds total = {}, median = {}, p99 = {}, most = {};
};
Distribution distribution_of(std::vector<Nanoseconds> values);

struct LaunchRow {
  Activity activity = Activity::kNone;
  Distribution call = {}, delay = {}, device = {};
  std::int64_t shorter_than_call = 0;  // on the device
  std::int64_t long_calls = 0;
  std::int64_t long_delays = 0;
};

struct LaunchStatistics {
  std::vector<LaunchRow> rows = {};  // compute, communication, memory; those that were launched
  std::int64_t without_launch = 0;
};
LaunchStatistics launch_statistics(const Timeline& timeline, const LaunchOptions& options = {});

struct QueueRow {
  std::string stream = {};
  std::int64_t launches = 0;
  std::int64_t longest = 0;
  double mean = 0;        // over time, from the first launch to the last start
  Nanoseconds full = {};  // while it was as long as the host waits at, or longer
  Nanoseconds span = {};  // from the first launch to the last start
};
// Streams with launches, in the order of lanes.
std::vector<QueueRow> queue_lengths(const Timeline& timeline, const LaunchOptions& options = {});

}  // namespace nadi::inline traces
