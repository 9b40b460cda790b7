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

#include "nadi/base/json.h"
#include "nadi/draw/job_traces.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline jobs {
struct JobReport;
}  // namespace nadi::inline jobs

namespace nadi::inline show {

struct JobTimelineOptions {
  JobTraces traces = {};  // of find_job_traces(); none means from the timers
  // Ranks are left out, whole data-parallel replicas first, until about as many events are left. A note says
  // so.
  std::int64_t most_events = 250'000;
};

// Nothing where there is nothing to draw; `problem` then says why, where there is something to say.
std::optional<TimelineView> job_timeline(const JobReport& report, const JobTimelineOptions& options,
                                         std::string* problem = nullptr);

// The timeline as docs/json.md has it for `nadi job report --json`: names once, the events of a lane as
// columns.
Json job_timeline_json(const TimelineView& timeline);

}  // namespace nadi::inline show
