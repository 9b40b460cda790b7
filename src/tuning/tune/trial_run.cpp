#include "nadi/tune/trial_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/tune/trial_log.h"

namespace nadi::inline tuning {
namespace {

struct TrialEndEntry {
  TrialEnd end;
  std::string_view name;
};
constexpr std::array kTrialEnds{
    TrialEndEntry{TrialEnd::kComplete, "complete"},
    TrialEndEntry{TrialEnd::kPruned, "pruned"},
    TrialEndEntry{TrialEnd::kCrashed, "crashed"},
    TrialEndEntry{TrialEnd::kOutOfMemory, "out of memory"},
    TrialEndEntry{TrialEnd::kTimedOut, "timed out"},
    TrialEndEntry{TrialEnd::kLimit, "stopped"},
    TrialEndEntry{TrialEnd::kNoMetric, "no metric"},
    TrialEndEntry{TrialEnd::kNotStarted, "not started"},
    TrialEndEntry{TrialEnd::kInterrupted, "interrupted"},
};

// What the reason of a crash is looked for in.
constexpr std::size_t kLastLines = 20;

TrialEnd end_of(StopKind kind) {
  switch (kind) {
    case StopKind::kPruned:
      return TrialEnd::kPruned;
    case StopKind::kTimedOut:
      return TrialEnd::kTimedOut;
    case StopKind::kLimit:
      return TrialEnd::kLimit;
    case StopKind::kInterrupted:
      return TrialEnd::kInterrupted;
  }
  unreachable();
}

bool judged_by_exit_code(const std::vector<MetricSpec>& metrics) {
  return std::ranges::any_of(metrics,
                             [](const MetricSpec& each) { return each.source == MetricSource::kExitCode; });
}

// What the last lines of a trial were, errors last: they say more about a crash.
class LastLines {
 public:
  void add(std::string_view line, bool is_error) {
    std::deque<std::string>& lines = is_error ? errors_ : output_;
    lines.emplace_back(line);
    if (lines.size() > kLastLines) lines.pop_front();
  }
  std::vector<std::string> all() const {
    std::vector<std::string> lines(output_.begin(), output_.end());
    lines.insert(lines.end(), errors_.begin(), errors_.end());
    return lines;
  }

 private:
  std::deque<std::string> output_, errors_;
};

class Repetition {
 public:
  Repetition(const TrialSettings& settings, const TrialHooks& hooks, TrialLog& log, bool is_first)
      : settings_(settings), hooks_(hooks), log_(log), is_first_(is_first), reader_(settings.metrics) {}

  // Into the result; false where the trial ends with it.
  bool run(const TrialCommand& command, const TrialPlace& place, TrialResult& result) {
    ProcessEnd end;
    try {
      end = run_trial_process(command, settings_.limits,
                              {.on_line =
                                   [&](std::string_view line, bool is_error) {
                                     log_.line(line);
                                     last_.add(line, is_error);
                                     reader_.on_line(line, is_error);
                                   },
                               .stop = [&] { return stop(); }});
    } catch (const Error& error) {
      return ended(result, TrialEnd::kNotStarted, error.message());
    }
    if (!end.not_started.empty()) return ended(result, TrialEnd::kNotStarted, end.not_started);
    result.seconds += end.seconds;
    result.cut_lines += reader_.cut_lines();
    if (end.peak_gpu_memory_mib)
      result.peak_gpu_memory_mib = std::max(result.peak_gpu_memory_mib.value_or(0), *end.peak_gpu_memory_mib);
    if (end.left_behind > 0)
      log_.note(format("{} processes of the trial could not be ended", end.left_behind));
    if (end.stopped) {
      log_.note(format("ended{} after {:.3f} s: {}", end.killed ? " by force" : "", end.seconds,
                       end.stopped->reason));
      return ended(result, end_of(end.stopped->kind), end.stopped->reason);
    }
    log_.note(format("{} after {:.3f} s", end.status.to_string(), end.seconds));
    if (!judged_by_exit_code(settings_.metrics) || end.status.signal != 0)
      if (const auto failure = failure_of(end.status, last_.all()))
        return ended(result, failure->out_of_memory ? TrialEnd::kOutOfMemory : TrialEnd::kCrashed,
                     failure->reason);
    MetricResult metrics =
        reader_.result({.exit_code = end.status.exit_code, .seconds = end.seconds, .folder = place.folder});
    if (metrics.values.empty()) return ended(result, TrialEnd::kNoMetric, metrics.missing);
    result.repetitions.push_back(std::move(metrics.values));
    return true;
  }

 private:
  std::optional<StopRequest> stop() {
    log_.flush();
    if (hooks_.alive) hooks_.alive();
    if (hooks_.interrupted && hooks_.interrupted())
      return StopRequest{StopKind::kInterrupted, "the study was interrupted"};
    const auto fresh = reader_.take_intermediate();
    if (!is_first_ || !hooks_.prune || fresh.empty()) return std::nullopt;
    if (auto reason = hooks_.prune(fresh)) return StopRequest{StopKind::kPruned, std::move(*reason)};
    return std::nullopt;
  }

  static bool ended(TrialResult& result, TrialEnd outcome, std::string reason) {
    result.outcome = outcome;
    result.reason = std::move(reason);
    return false;
  }

  const TrialSettings& settings_;
  const TrialHooks& hooks_;
  TrialLog& log_;
  bool is_first_;
  MetricReader reader_;
  LastLines last_;
};

void combine(TrialResult& result) {
  const std::size_t metrics = result.repetitions.front().size();
  for (std::size_t i = 0; i < metrics; ++i) {
    std::vector<double> values;
    for (const std::vector<double>& each : result.repetitions) values.push_back(each[i]);
    result.values.push_back(reduced(MetricReduction::kMedian, values));
    if (i > 0 || values.size() < 2) continue;
    const double mean = reduced(MetricReduction::kMean, values);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    if (mean != 0)
      result.noise = std::sqrt(squares / static_cast<double>(values.size() - 1)) / std::abs(mean);
  }
}

}  // namespace

std::string_view to_string(TrialEnd end) {
  return std::ranges::find(kTrialEnds, end, &TrialEndEntry::end)->name;
}

std::optional<TrialEnd> trial_end_named(std::string_view name) {
  const auto found = std::ranges::find(kTrialEnds, name, &TrialEndEntry::name);
  return found == kTrialEnds.end() ? std::nullopt : std::optional(found->end);
}

TrialResult run_trial(const TrialSettings& settings, const TrialRun& run, const TrialHooks& hooks) {
  TrialResult result;
  TrialLog log(run.log);
  for (std::int64_t repeat = 0; repeat < settings.repeat; ++repeat) {
    TrialPlace place = run.place;
    place.repeat = repeat;
    const TrialCommand command = command_for(settings.command, *run.space, run.setting, place);
    if (needs_folder(settings.command)) std::filesystem::create_directories(place.folder);
    for (const CommandFile& file : command.files) write_atomically(file.path, file.text, Overwrite::kAllow);
    log.begin(command, place, settings.repeat);
    if (!Repetition(settings, hooks, log, repeat == 0).run(command, place, result)) break;
  }
  if (result.outcome == TrialEnd::kComplete) combine(result);
  log.end(result.outcome == TrialEnd::kComplete ? "" : result.reason);
  return result;
}

}  // namespace nadi::inline tuning
