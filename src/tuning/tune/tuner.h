// Runs the trials of a study until there are as many as asked for: what `nadi tune` and `nadi tune resume`
// do.
//
//   Tuner tuner(tune, {.storage = "study.db", .study = "threads", .workers = 2});
//   const TunerSummary summary = tuner.run(listener);
//
// Each worker is a thread with a storage of its own. Any number of tuners, on any machine that sees the file,
// may work on one study: the number of trials is kept across all of them, and trials of a tuner that died are
// found and marked, and done again.
//
// The order of trials: those that wait in the study (what the planner ranked first, the baseline, what was
// interrupted), then what the sampler proposes. A point that was tried before takes the value from memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/study/study_storage.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline tuning {

class PlanGuide;
struct GuideProgress;

struct TunerOptions {
  std::filesystem::path storage = {};
  std::string study = {};
  StorageOptions storage_options = {.mode = StorageMode::kWrite};
  int workers = 1;
  std::filesystem::path trials_folder = {};  // of logs and of the folders of trials
  bool keep_logs = true;
  std::optional<std::chrono::milliseconds> time_limit = {};  // no trial is begun after it
  std::int64_t most_failures = 10;  // so many at the start of the study, and nothing else: the study ends
  std::chrono::seconds stale_grace{120};
  // How long the result of a trial is tried to be written where the disk is full or the file is locked.
  std::chrono::seconds result_patience{600};
  const PlanGuide* guide = nullptr;
  std::function<bool()> interrupted = {};
};

// Told about each trial, one call at a time, from any worker.
class TunerListener {
 public:
  virtual ~TunerListener() = default;
  virtual void on_start(std::int64_t number, const std::string& setting, int worker) = 0;
  // With all trials as they are now.
  virtual void on_end(const StudyTrial& trial, std::span<const StudyTrial> trials, int worker) = 0;
  virtual void on_wait() {}  // now and then while trials run
  virtual void on_note(const std::string& text) = 0;
};

enum class TunerStop : std::uint8_t { kDone, kExhausted, kTimeLimit, kInterrupted, kFailing };

struct TunerSummary {
  TunerStop stop = TunerStop::kDone;
  std::int64_t begun = 0;        // by this tuner
  std::int64_t from_memory = 0;  // of them
  double our_seconds = 0;        // spent by us, not by the commands: asking and telling
  std::string reason = {};       // of kFailing: what the last failure was
};

// What is queued when a study begins, each a trial that waits: `first` where it is given, the planner's best
// plan, the baseline, and more of the planner's. `progress` is that of PlanGuide::ranked().
std::vector<NewTrial> first_trials(const TuneStudy& tune, const PlanGuide* guide,
                                   const std::optional<std::vector<double>>& first = {},
                                   const std::function<void(const GuideProgress&)>& progress = {});

class Tuner {
 public:
  // Both must outlive it.
  Tuner(const TuneStudy& tune, const TunerOptions& options);
  // Error (environment) when the storage cannot be written: the running trials are ended, and their logs keep
  // what they printed. A trial that runs goes on without reporting meanwhile, and a result is tried again for
  // `result_patience`.
  TunerSummary run(TunerListener& listener);

 private:
  const TuneStudy& tune_;
  const TunerOptions& options_;
};

}  // namespace nadi::inline tuning
