// One trial: its command is run as often as asked for, its output is read for the metrics and kept in a log,
// and whatever happens is a result with a reason.
//
//   const TrialResult result = run_trial(settings, {.setting = setting, .place = place}, hooks);
//   result.outcome, result.values, result.reason
//
// Several repetitions give the median of their values, and `noise`, the standard deviation of the first
// metric over them, divided by its mean. A repetition that fails fails the trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/tune/metric.h"
#include "nadi/tune/space_points.h"
#include "nadi/tune/trial_command.h"
#include "nadi/tune/trial_process.h"

namespace nadi::inline tuning {

enum class TrialEnd : std::uint8_t {
  kComplete,
  kPruned,       // stopped for its intermediate values
  kCrashed,      // exit code other than 0, or a signal
  kOutOfMemory,  // the same, and it said so
  kTimedOut,
  kLimit,     // a limit of the GPUs
  kNoMetric,  // it ended well, and printed nothing that can be compared
  kNotStarted,
  kInterrupted,
};
// "complete", "pruned", "crashed", "out of memory", "timed out", "stopped", "no metric", "not started",
// "interrupted": the user attribute `outcome` of trials.
std::string_view to_string(TrialEnd end);
std::optional<TrialEnd> trial_end_named(std::string_view name);

struct TrialResult {
  TrialEnd outcome = TrialEnd::kComplete;
  std::vector<double> values = {};                    // of kComplete, one for each metric
  std::string reason = {};                            // of all others
  double seconds = 0;                                 // of all repetitions
  std::vector<std::vector<double>> repetitions = {};  // values of each
  std::optional<double> noise = {};
  std::optional<double> peak_gpu_memory_mib = {};
  std::int64_t cut_lines = 0;  // lines of output that were searched in part
};

struct TrialSettings {
  CommandTemplate command;
  std::vector<MetricSpec> metrics;
  ProcessLimits limits = {};
  std::int64_t repeat = 1;
};

struct TrialRun {
  const TuneSpace* space = nullptr;
  TuneSetting setting = {};
  TrialPlace place = {};
  std::filesystem::path log = {};  // "": none is kept
};

struct TrialHooks {
  // Values of the first repetition, as they come; true ends the trial. Called often.
  std::function<std::optional<std::string>(const std::vector<MetricReader::Intermediate>&)> prune = {};
  std::function<bool()> interrupted = {};
  std::function<void()> alive = {};  // now and then, while it runs
};

// Error (environment) where the log or a file of the trial cannot be written: then there is no result.
TrialResult run_trial(const TrialSettings& settings, const TrialRun& run, const TrialHooks& hooks);

}  // namespace nadi::inline tuning
