// How far the job is, and whether it goes on.
//
// The usual time of an iteration is the steady one, as the report of the job has it; where nothing is steady yet, the median
// over the newest lines of the last start. When the newest line came is known in three ways, in this order:
// somebody saw it come; the line has a date; the file was last written then. Dates are in the clock of the
// node, which may be in another time zone: one that is off by quarters of an hour from the file's own time
// does not count.
#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_health/spoken_duration.h"
#include "nadi/job_log/steady_time.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t kNewestLines = 33;
// Without a scheduler: files that were written so recently are those of a job that runs.
constexpr seconds kRecently{300};

struct LineTimes {
  std::optional<Nanoseconds> iteration;  // median
  std::int64_t interval = 1;             // iterations between two lines, median
  seconds longest_pause{0};              // between two lines that have dates
};

LineTimes line_times(const NodeLog& node) {
  LineTimes times;
  std::vector<Nanoseconds> iterations;
  std::vector<std::int64_t> intervals;
  const int start = node.points.back().start;
  const IterationPoint* before = nullptr;
  for (std::size_t i = node.points.size(); i-- > 0 && node.points[i].start == start;) {
    const IterationPoint& point = node.points[i];
    if (before != nullptr) {
      intervals.push_back(
          std::max<std::int64_t>(1, (before->last - point.last) / std::max<std::int64_t>(1, before->lines)));
      if (before->date && point.date && before->lines == 1)
        times.longest_pause = std::max(times.longest_pause, seconds(*before->date - *point.date));
    }
    if (iterations.size() < kNewestLines && point.mean()) iterations.push_back(*point.mean());
    before = &point;
  }
  // A single line has the warm-up in it, and nothing better is known.
  const auto median = [](auto& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  if (!iterations.empty()) times.iteration = median(iterations);
  // What the report of the job calls steady, so that both say the same.
  if (const SteadyTime steady = steady_time(node.points); steady.lines > 0 && !steady.unsure)
    times.iteration = steady.mean;
  // nadi train's own lines say how long it will still take.
  const IterationPoint& newest = node.points.back();
  if (iterations.empty() && newest.left && newest.iterations > newest.last && newest.left->count() > 0)
    times.iteration = Nanoseconds{newest.left->count() / (newest.iterations - newest.last)};
  times.interval = intervals.empty() ? std::max<std::int64_t>(1, node.points.back().last) : median(intervals);
  return times;
}

std::optional<sys_seconds> last_progress(const JobObservation& seen, const NodeLog& node) {
  if (seen.progress_seen) return seen.progress_seen;
  if (node.out.modified == 0) return std::nullopt;
  const sys_seconds written{seconds(node.out.modified)};
  if (!node.newest || !node.newest->date) return written;
  const std::int64_t behind = node.out.modified - *node.newest->date;
  constexpr std::int64_t kZoneStep = 900, kSlack = 60;
  const std::int64_t off = ((behind % kZoneStep) + kZoneStep) % kZoneStep;
  constexpr std::int64_t kMostZones = 86400;  // a date that is further behind is no matter of zones
  const bool other_zone = behind < -kSlack || (behind > kZoneStep - kSlack && behind < kMostZones &&
                                               (off < kSlack || off > kZoneStep - kSlack));
  return other_zone ? written : sys_seconds{seconds(std::min(*node.newest->date, node.out.modified))};
}

seconds whole_seconds(Nanoseconds time) {
  return seconds(time.count() / 1'000'000'000);
}

bool is_known(const std::optional<JobStatus>& status) {
  return status && status->state != JobState::kUnknown;
}

// A collective that waits for a rank which never comes keeps GPUs at 100 %.
std::string busy_text(const BusyGpus& busy) {
  return format(", while {} busy: a rank may be missing from a collective",
                busy.gpus == 1 ? "its GPU is" : format("its {} GPUs are", busy.gpus));
}

// What the last line of a log says that the job does between iterations; "" where it says nothing of it.
std::string told_pause(const NodeLog& node) {
  constexpr std::array<std::string_view, 6> kPauses{"saving checkpoint", "loading checkpoint", "evaluating",
                                                    "Evaluating",        "validation loss",    "saved "};
  for (std::size_t i = node.out.tail.size(); i-- > 0;) {
    const std::string& line = node.out.tail[i];
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    for (const std::string_view pause : kPauses)
      if (line.find(pause) != std::string::npos) return std::string(pause);
    return "";
  }
  return "";
}

// Since the job last started; nothing when nobody knows. Without a scheduler the sampler does, which starts
// with the job: of the first start, since it does not mark others.
std::optional<seconds> since_start(const JobObservation& seen, bool known_to_run) {
  if (known_to_run) return seen.status->elapsed;
  if (is_known(seen.status)) return std::nullopt;  // it waits, or has ended: others say so
  std::optional<std::int64_t> first, last;
  for (const NodeLog& node : seen.log.nodes) {
    if (node.starts.size() > 1) return std::nullopt;
    for (const DeviceLog& device : node.devices) {
      if (device.samples.empty() || !device.samples.front().time || !device.last.time) continue;
      first = std::min(first.value_or(*device.samples.front().time), *device.samples.front().time);
      last = std::max(last.value_or(*device.last.time), *device.last.time);
    }
  }
  return first ? std::optional(seconds(*last - *first)) : std::nullopt;
}

// The settings that a script prints before it starts its program are no output of the program.
bool only_settings(const NodeLog& node) {
  return node.out.lines <= static_cast<std::int64_t>(node.settings.size()) + node.settings_left_out;
}

// No iteration since the start.
void find_no_beginning(const JobObservation& seen, const HealthLimits& limits, bool known_to_run,
                       HealthFindings& findings) {
  const std::optional<seconds> elapsed = since_start(seen, known_to_run);
  if (!elapsed || *elapsed <= limits.startup || seen.log.nodes.empty()) return;
  HealthFinding finding{.rule = HealthRule::kNoProgress,
                        .severity = HealthSeverity::kWarning,
                        .text = format("no iteration yet, {} after the start", spoken_duration(*elapsed)),
                        .evidence = {{.place = "",
                                      .text = format("first iterations are expected within {}",
                                                     spoken_duration(limits.startup))}}};
  // What loads, compiles or downloads says so from time to time; what hangs is silent.
  bool printed = false;
  std::int64_t written = 0;
  for (const NodeLog& node : seen.log.nodes) {
    const bool settings_alone = only_settings(node);
    printed = printed || !settings_alone || node.err.lines > static_cast<std::int64_t>(node.starts.size());
    written = std::max({written, settings_alone ? 0 : node.out.modified, node.err.modified});
    if (settings_alone && node.out.lines > 0 && finding.evidence.size() < 8)
      finding.evidence.push_back({.place = place_of(node.out, node.out.lines),
                                  .text = "settings of the script, and nothing of its program"});
  }
  const bool silent = !printed || seen.now - sys_seconds(seconds(written)) > limits.startup;
  const auto busy = busy_gpus(seen.log, limits.idle_time);
  if (silent) finding.text += ", and nothing is being written";
  if (busy) {
    finding.text += busy_text(*busy);
    finding.evidence.push_back(busy->evidence);
  }
  if (silent || busy) finding.severity = HealthSeverity::kProblem;
  findings.push_back(std::move(finding));
}

}  // namespace

std::optional<sys_seconds> last_activity(const JobLog& log) {
  constexpr std::int64_t kCopied = 86400;  // more than clocks of any two time zones differ
  std::int64_t newest_file = 0, newest_date = 0;
  bool copied = true;
  const auto look = [&](const LogFile& file, const std::optional<std::int64_t>& date) {
    newest_file = std::max(newest_file, file.modified);
    if (!date || file.modified == 0) return;
    newest_date = std::max(newest_date, *date);
    copied = copied && file.modified - *date > kCopied;
  };
  for (const NodeLog& node : log.nodes) {
    look(node.out, node.newest ? node.newest->date : std::nullopt);
    look(node.err, std::nullopt);
    std::optional<std::int64_t> sampled;
    for (const DeviceLog& device : node.devices)
      if (device.last.time) sampled = std::max(sampled.value_or(0), *device.last.time);
    look(node.gpu, sampled);
  }
  if (newest_file == 0) return std::nullopt;
  return sys_seconds{seconds(newest_date > 0 && copied ? newest_date : newest_file)};
}

bool runs_now(const JobObservation& seen) {
  if (is_known(seen.status))
    return seen.status->state == JobState::kRunning || seen.status->state == JobState::kEnding;
  const auto newest = last_activity(seen.log);
  return newest && seen.now - *newest < kRecently && !progress_of(seen).done;
}

JobProgress progress_of(const JobObservation& seen, const HealthLimits& limits) {
  JobProgress progress;
  const NodeLog* const node = iteration_node(seen.log);
  for (const NodeLog& one : seen.log.nodes) progress.done = progress.done || one.done;
  const auto newest_trace = last_activity(seen.log);
  if (newest_trace && !is_known(seen.status) && !seen.progress_seen && !progress.done &&
      seen.now - *newest_trace >= limits.history)
    progress.ended_about = newest_trace;
  if (node == nullptr || !node->newest) return progress;
  const IterationPoint& newest = *node->newest;
  const LineTimes times = line_times(*node);
  progress.iteration = newest.last;
  progress.iterations = newest.iterations;
  progress.iteration_time = times.iteration;
  progress.loss = newest.loss;
  progress.tflops_per_rank = newest.tflops_per_rank;
  progress.tokens_per_second = newest.tokens_per_second;
  progress.last_seen = last_progress(seen, *node);
  progress.done = progress.done || (newest.iterations > 0 && newest.last >= newest.iterations);
  if (progress.done) progress.ended_about.reset();
  constexpr std::int64_t kMostNanoseconds = std::int64_t{100} * 365 * 86400 * 1'000'000'000;
  if (times.iteration && newest.iterations > newest.last && !progress.ended_about) {
    const double left =
        static_cast<double>(times.iteration->count()) * static_cast<double>(newest.iterations - newest.last);
    if (left < static_cast<double>(kMostNanoseconds)) progress.left = Nanoseconds{std::llround(left)};
  }
  return progress;
}

void find_stall(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  const NodeLog* const node = iteration_node(seen.log);
  const JobProgress progress = progress_of(seen, limits);
  if (progress.done || progress.ended_about) return;  // the rule of the state speaks
  const bool known_to_run = seen.status && seen.status->state == JobState::kRunning;
  if (node == nullptr || !node->newest ||
      node->points.back().start + 1 < static_cast<int>(node->starts.size())) {
    find_no_beginning(seen, limits, known_to_run, findings);
    return;
  }
  if (!progress.last_seen) return;
  seconds silence = seen.now - *progress.last_seen;
  const LineTimes times = line_times(*node);
  seconds usual = times.iteration ? whole_seconds(Nanoseconds{times.iteration->count() * times.interval})
                                  : times.longest_pause;
  seconds limit =
      std::max(limits.least_stall,
               seconds(static_cast<std::int64_t>(static_cast<double>(usual.count()) * limits.stall_factor)));
  // Evaluation and checkpoints: a pause that has been there before is normal.
  limit = std::max(limit, times.longest_pause * 3 / 2);
  // So is one for a checkpoint or an evaluation that the log tells of, as long as the start may take.
  if (const std::string pause = told_pause(*node); !pause.empty()) {
    limit = std::max(limit, limits.startup);
    silence = std::min(silence, seconds(seen.now - sys_seconds(seconds(node->out.modified))));
  }
  if (silence <= limit) return;
  const bool ended = seen.status && has_ended(seen.status->state);
  if (ended) return;  // the rule of the state speaks
  if (seen.status && seen.status->state == JobState::kPending) return;
  const IterationPoint& newest = *node->newest;
  std::string text = known_to_run || runs_now(seen)
                         ? format("no progress for {}: iteration {} of {} was the last",
                                  spoken_duration(silence), newest.last, newest.iterations)
                         : format("stopped at iteration {} of {}: nothing was written for {}", newest.last,
                                  newest.iterations, spoken_duration(silence));
  HealthFinding finding{
      .rule = HealthRule::kNoProgress, .severity = HealthSeverity::kProblem, .text = std::move(text)};
  finding.evidence.push_back(
      {.place = place_of(node->out, newest.line), .text = format("line of iteration {}", newest.last)});
  if (times.iteration)
    finding.evidence.push_back(
        {.place = "",
         .text = format("usually {} per iteration and {} between lines; limit {}",
                        to_string(*times.iteration), spoken_duration(usual), spoken_duration(limit))});
  if (const auto busy = busy_gpus(seen.log, limits.idle_time)) {
    finding.text += busy_text(*busy);
    finding.evidence.push_back(busy->evidence);
  }
  finding.nodes = {node->name};
  findings.push_back(std::move(finding));
}

void find_bad_loss(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  for (const NodeLog& node : seen.log.nodes) {
    if (!node.newest) continue;
    const IterationPoint& newest = *node.newest;
    const int start = newest.start;
    const IterationPoint* first = nullptr;
    std::int64_t bad = 0, nan = 0;
    for (const IterationPoint& point : node.points) {
      if (point.start != start || (point.bad_losses == 0 && point.nan == 0)) continue;
      if (first == nullptr) first = &point;
      bad += point.bad_losses;
      nan += point.nan;
    }
    if (first == nullptr) continue;
    const bool now = newest.bad_losses > 0 || newest.nan > 0;
    HealthFinding finding{
        .rule = HealthRule::kLoss,
        .severity = now ? HealthSeverity::kProblem : HealthSeverity::kWarning,
        .text = now ? format("the loss is not a number since iteration {} or before", first->last)
                    : format("the loss was not a number at iteration {} or before", first->last),
        .nodes = {node.name}};
    finding.evidence.push_back(
        {.place = place_of(node.out, first->line),
         .text = format("lines with such a loss: {}; iterations that Megatron counts as NaN: {}", bad, nan)});
    if (now)
      finding.evidence.push_back({.place = place_of(node.out, newest.line),
                                  .text = format("iteration {}: loss {}", newest.last,
                                                 newest.loss ? format("{}", *newest.loss) : "missing")});
    findings.push_back(std::move(finding));
    return;  // other nodes print the same
  }
}

void find_requeue(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  const NodeLog* most = nullptr;
  for (const NodeLog& node : seen.log.nodes)
    if (node.starts.size() > 1 && (most == nullptr || node.starts.size() > most->starts.size())) most = &node;
  std::int64_t restarts = seen.status ? seen.status->restarts : 0;
  if (most != nullptr) restarts = std::max(restarts, static_cast<std::int64_t>(most->starts.size()) - 1);
  if (restarts == 0) return;
  HealthFinding finding{
      .rule = HealthRule::kRequeued,
      .severity = HealthSeverity::kNote,
      .text = restarts == 1 ? "was queued again once" : format("was queued again {} times", restarts)};
  if (most != nullptr) {
    finding.nodes = {most->name};
    finding.evidence.push_back(
        {.place = place_of(most->out, most->starts.back().line), .text = "the last start"});
    // Where the last start went on: from a checkpoint, or from the beginning.
    const IterationPoint* first = nullptr;
    const IterationPoint* before = nullptr;
    for (const IterationPoint& point : most->points) {
      if (point.start + 1 == static_cast<int>(most->starts.size())) {
        first = &point;
        break;
      }
      before = &point;
    }
    if (first != nullptr && before != nullptr) {
      const IterationPoint& beginning = most->points.front();
      finding.evidence.push_back(
          {.place = place_of(most->out, first->line),
           .text = format("went on with iteration {} after {}", first->first, before->last)});
      if (first->first <= beginning.first && before->last > beginning.first) {
        finding.severity = HealthSeverity::kWarning;
        finding.text += format(" and began again with iteration {}: what was done up to {} is lost",
                               first->first, before->last);
      }
    }
  } else {
    finding.evidence.push_back({.place = "slurm", .text = format("restarts: {}", restarts)});
  }
  findings.push_back(std::move(finding));
}

}  // namespace nadi::inline jobs
