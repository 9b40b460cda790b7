#include "nadi/analysis/launches.h"

#include <algorithm>
#include <map>

namespace nadi::inline traces {
namespace {

struct Values {
  LaunchRow row;
  std::vector<Nanoseconds> calls, delays, durations;
};

QueueRow queue_length(std::vector<Nanoseconds> launches, const std::vector<Nanoseconds>& starts,
                      const LaunchOptions& options) {
  std::ranges::sort(launches);
  QueueRow queue{.launches = static_cast<std::int64_t>(launches.size())};
  Nanoseconds now = std::min(launches.front(), starts.front());
  queue.span = std::max(launches.back(), starts.back()) - now;
  std::int64_t length = 0;
  double area = 0;
  for (std::size_t launched = 0, started = 0; started < starts.size();) {
    // The launch comes first of both at one moment: nothing starts before it was launched.
    const bool grows = launched < launches.size() && launches[launched] <= starts[started];
    const Nanoseconds then = grows ? launches[launched] : starts[started];
    area += static_cast<double>(length) * static_cast<double>((then - now).count());
    if (length >= options.full_queue) queue.full += then - now;
    now = then;
    length += grows ? 1 : -1;
    (grows ? launched : started) += 1;
    queue.longest = std::max(queue.longest, length);
  }
  if (queue.span.count() > 0) queue.mean = area / static_cast<double>(queue.span.count());
  return queue;
}

}  // namespace

Distribution distribution_of(std::vector<Nanoseconds> values) {
  Distribution result{.count = static_cast<std::int64_t>(values.size())};
  if (values.empty()) return result;
  std::ranges::sort(values);
  for (const Nanoseconds value : values) result.total += value;
  result.median = values[(values.size() - 1) / 2];
  result.p99 = values[(values.size() - 1) * 99 / 100];
  result.most = values.back();
  return result;
}

LaunchStatistics launch_statistics(const Timeline& timeline, const LaunchOptions& options) {
  LaunchStatistics result;
  std::map<Activity, Values> by_activity;
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    if (!is_device(timeline.activity(row)) || !timeline.has_time(row)) continue;
    const std::uint32_t launch = timeline.launch(row);
    if (launch == kNoRow) {
      ++result.without_launch;
      continue;
    }
    Values& values = by_activity[timeline.activity(row)];
    const Nanoseconds returned = timeline.inclusive_end(launch);
    const Nanoseconds call = returned - timeline.start(launch);
    const Nanoseconds delay = std::max(timeline.start(row) - returned, Nanoseconds{});
    values.calls.push_back(call);
    values.delays.push_back(delay);
    values.durations.push_back(timeline.duration(row));
    values.row.shorter_than_call += timeline.duration(row) < call ? 1 : 0;
    values.row.long_calls += call > options.long_call ? 1 : 0;
    values.row.long_delays += delay > options.long_delay ? 1 : 0;
  }
  for (auto& [activity, values] : by_activity) {
    values.row.activity = activity;
    values.row.call = distribution_of(std::move(values.calls));
    values.row.delay = distribution_of(std::move(values.delays));
    values.row.device = distribution_of(std::move(values.durations));
    result.rows.push_back(values.row);
  }
  return result;
}

std::vector<QueueRow> queue_lengths(const Timeline& timeline, const LaunchOptions& options) {
  std::vector<QueueRow> queues;
  for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
    if (timeline.lanes()[lane].host) continue;
    std::vector<Nanoseconds> launches, starts;
    for (const std::uint32_t row : timeline.rows_of(lane)) {
      if (timeline.launch(row) == kNoRow) continue;
      // The clocks of host and device may differ by a little: work that seems to start before its launch
      // never waited.
      launches.push_back(std::min(timeline.start(timeline.launch(row)), timeline.start(row)));
      starts.push_back(timeline.start(row));
    }
    if (starts.empty()) continue;
    QueueRow& queue = queues.emplace_back(queue_length(std::move(launches), starts, options));
    queue.stream = timeline.lanes()[lane].name;
  }
  return queues;
}

}  // namespace nadi::inline traces
