#include "nadi/draw/job_timeline.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/event_json.h"
#include "nadi/draw/timeline_from_log.h"
#include "nadi/draw/timeline_from_traces.h"
#include "nadi/job_report/job_report.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline show {
namespace {

TrainingLog log_of(const JobReport& report) {
  const JobSplit& split = report.split;
  TrainingLog log;
  log.settings = {.world_size = split.world_size,
                  .tensor_parallel = split.tensor,
                  .pipeline_parallel = split.pipeline,
                  .data_parallel = split.data,
                  .context_parallel = split.context,
                  .virtual_stages = split.virtual_stages,
                  .micro_batch = split.micro_batch,
                  .global_batch = split.global_batch,
                  .model = split.model};
  log.iterations.push_back(report.timed_iteration);
  return log;
}

bool has_ranks(const LoggedIteration& iteration, std::string_view timer) {
  const LoggedTimer* const found = iteration.find(timer);
  return found != nullptr && !found->ranks.empty();
}

// Ranks that are shown: all, or those of the first replicas.
std::string shown_ranks(const JobReport& report, std::int64_t events, std::int64_t most) {
  if (events <= most || !report.split.world_size) return "";
  const std::int64_t world = *report.split.world_size;
  const std::int64_t stages = report.split.pipeline.value_or(1);
  const std::int64_t of_replica = report.split.tensor.value_or(1) * report.split.context.value_or(1);
  if (world % stages != 0) return format("0-{}", std::max<std::int64_t>(world * most / events, 1) - 1);
  const std::int64_t of_stage = world / stages;
  const std::int64_t wanted = std::max(of_replica, of_stage * most / events / of_replica * of_replica);
  std::string ranges;
  for (std::int64_t stage = 0; stage < stages; ++stage)
    ranges += format("{}{}-{}", stage == 0 ? "" : ",", stage * of_stage,
                     stage * of_stage + std::min(wanted, of_stage) - 1);
  return ranges;
}

// As a pipeline. False where the log lacks what that needs, as where lines of ranks were cut; the view is
// then as before, with a note.
bool draw_calls(TimelineView& view, const JobReport& report, const TrainingLog& log,
                const TimelineSelection& selection) {
  TimelineView drawn;
  drawn.title = view.title;
  drawn.notes = view.notes;
  PipelineSummary summary;
  try {
    summary = pipeline_from_log(drawn, log, {.selection = selection});
  } catch (const Error& error) {
    view.notes.push_back(format("not drawn as a pipeline: {}", error.what()));
    return false;
  }
  drawn.subtitle =
      summary.reconstructed
          ? format(
                "Iteration {}, reconstructed from the timers of {} ranks in the order of the schedule: the "
                "log "
                "does not say when work ran.",
                report.timed_iteration.iteration,
                with_thousands(static_cast<std::int64_t>(summary.stages.size())))
          : format("Calls as the log lists them up to iteration {}, {} ranks, by the clocks of their nodes.",
                   report.timed_iteration.iteration,
                   with_thousands(static_cast<std::int64_t>(summary.stages.size())));
  view = std::move(drawn);
  return true;
}

void draw_timers(TimelineView& view, const JobReport& report, const JobTimelineOptions& options) {
  const TrainingLog log = log_of(report);
  const bool pipeline = has_ranks(report.timed_iteration, "forward-compute") &&
                        has_ranks(report.timed_iteration, "backward-compute") && report.split.pipeline &&
                        report.split.micro_batches;
  std::int64_t events = report.timers.calls;
  if (events == 0 && pipeline)
    events = 2 * *report.split.micro_batches * report.split.world_size.value_or(1) *
             report.split.virtual_stages.value_or(1);
  TimelineSelection selection;
  if (const std::string ranks = shown_ranks(report, events, options.most_events); !ranks.empty()) {
    selection.ranks = parse_number_ranges(ranks, "ranks");
    view.notes.push_back(
        format("only some ranks are drawn, of every stage the first ones: all of them would be {} boxes",
               with_thousands(events)));
  }
  if (!pipeline || !draw_calls(view, report, log, selection)) {
    timeline_from_log(view, log, selection);
    view.subtitle =
        format("Timers of iteration {}, one after the other: the log has their sums, not their moments.",
               report.timed_iteration.iteration);
  }
}

}  // namespace

std::optional<TimelineView> job_timeline(const JobReport& report, const JobTimelineOptions& options,
                                         std::string* problem) {
  TimelineView view;
  view.title = report.title;
  try {
    if (!options.traces.files.empty()) {
      const std::size_t count = options.traces.files.size();
      timeline_from_traces(view, options.traces.files, {});
      view.notes.insert(view.notes.end(), options.traces.notes.begin(), options.traces.notes.end());
      view.subtitle = count == 1 ? std::string("From the trace in the folder of the job.")
                                 : format("From {} traces in the folder of the job.", count);
    } else if (!report.timed_iteration.timers.empty()) {
      draw_timers(view, report, options);
    } else {
      return std::nullopt;
    }
  } catch (const Error& error) {
    // A report without its timeline is still a report; the reason is shown in its place.
    if (problem != nullptr) *problem = error.what();
    return std::nullopt;
  }
  return view;
}

Json job_timeline_json(const TimelineView& timeline) {
  Json labels = Json::array(), lanes = Json::array();
  for (const TimelineView::Label& label : timeline.labels())
    labels.push_back({{"name", timeline.text(label.name)}, {"kind", to_string(label.kind)}});
  const std::int64_t origin = first_start(timeline);
  for (std::uint32_t lane = 0; lane < timeline.lane_count(); ++lane) {
    const TimelineView::Events& events = timeline.events(lane);
    Json starts = Json::array(), micro_batches = Json::array();
    for (std::size_t i = 0; i < events.starts.size(); ++i) {
      starts.push_back(events.starts[i] - origin);
      const bool known = i < events.micro_batches.size() && events.micro_batches[i] != kNoMicroBatch;
      micro_batches.push_back(known ? Json(events.micro_batches[i]) : Json(nullptr));
    }
    lanes.push_back({{"group", timeline.group(events.about.group).name},
                     {"name", events.about.name},
                     {"note", events.about.note},
                     {"label", events.labels},
                     {"start_ns", std::move(starts)},
                     {"duration_ns", events.durations},
                     {"micro_batch", std::move(micro_batches)}});
  }
  return {{"subtitle", timeline.subtitle},
          {"pipeline", timeline.pipeline},
          {"notes", timeline.notes},
          {"labels", std::move(labels)},
          {"lanes", std::move(lanes)}};
}

}  // namespace nadi::inline show
