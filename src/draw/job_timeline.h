// The timeline of a job's ranks: from the traces in its folder, else from the timers of its log.
//
//   if (const auto timeline = job_timeline(report, {})) show(*timeline);
//
// From timers: where the log lists calls, all of them at their moments; else one iteration, reconstructed
// (timeline_from_log.h). World size, data-parallel size and stages are those that the report found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/draw/timeline_view.h"

namespace nadi {

struct JobReport;

struct JobTimelineOptions {
  std::vector<std::filesystem::path> traces = {};  // of ranks; empty: from the timers
  // Ranks are left out, whole data-parallel replicas first, until about as many events are left. A note says
  // so.
  std::int64_t most_events = 250'000;
};

// Nothing where there is nothing to draw; `problem` then says why, where there is something to say.
std::optional<TimelineView> job_timeline(const JobReport& report, const JobTimelineOptions& options,
                                         std::string* problem = nullptr);

}  // namespace nadi
