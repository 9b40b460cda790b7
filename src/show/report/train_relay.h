// How a training run is followed: its log in Nadi's form or Megatron's, Weights & Biases, and its early end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "nadi/launch/rank_watch.h"
#include "nadi/report/train_run.h"
#include "nadi/terminal/console.h"
#include "nadi/train/trainer.h"
#include "nadi/train/wandb_run.h"

namespace nadi::inline runs {
struct ResolvedTrainData;
}  // namespace nadi::inline runs

namespace nadi::inline show {

// Ends a run early: when the user interrupts it, and when Megatron's --exit-interval or
// --exit-duration-in-mins say so.
class EarlyTrainEnd {
 public:
  EarlyTrainEnd(const ResolvedTrain& run, const Console& console) : run_(run), console_(console) {}

  void after(std::int64_t step) { step_ = step; }
  void reader_left() { reader_gone_ = true; }
  bool reader_gone() const { return reader_gone_; }
  bool asked() const {
    const bool at_interval = run_.exit_interval > 0 && step_ > 0 && step_ % run_.exit_interval == 0;
    const bool late = run_.exit_minutes > 0 &&
                      std::chrono::steady_clock::now() - start_ >= std::chrono::minutes(run_.exit_minutes);
    return console_.interrupted() || at_interval || late || reader_gone_;
  }
  // For a run that was stopped: another rank may have been interrupted, of which this one only sees the end.
  bool was_interrupt() const {
    return console_.interrupted() || (run_.exit_interval == 0 && run_.exit_minutes == 0);
  }

 private:
  const ResolvedTrain& run_;
  const Console& console_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t step_ = 0;
  bool reader_gone_ = false;
};

// Passes on what a run tells, and counts its steps. From the first one on there is something to save: an
// interrupted run ends in its own time, and one whose output nobody reads any more is ended like that, too.
class TrainRelay : public TrainListener {
 public:
  // `wandb` may be nullptr.
  TrainRelay(TrainListener& log, const ResolvedTrain& run, EarlyTrainEnd& end, Interruption* interruption,
             WandbRun* wandb, RankWatch& watch)
      : log_(log), run_(run), end_(end), interruption_(interruption), wandb_(wandb), watch_(watch) {}
  void note(const std::string& text) override;
  void started(std::int64_t first, std::int64_t total) override;
  void step(const StepReport& report) override;
  void evaluating(std::int64_t done, std::int64_t batches) override;
  void evaluated(const EvaluationReport& report) override;
  void epoch(const EpochReport& report) override;
  void saved(const std::filesystem::path& path) override;
  void traced(const RunTraceFiles& files) override;

 private:
  template <class Call>
  void tell(const Call& call);

  TrainListener& log_;
  const ResolvedTrain& run_;
  EarlyTrainEnd& end_;
  Interruption* interruption_;
  WandbRun* wandb_;
  RankWatch& watch_;
  std::optional<Interruption::Hold> hold_;
};

// `first` is the console of rank 0, silent on the others; `all` that of every rank. JSON has standard output
// to itself.
std::unique_ptr<TrainListener> make_train_log(const ResolvedTrain& run, Rank rank, Console& first,
                                              Console& all, bool json);

// Those of the run, with settings and clock.
WandbOptions wandb_options(const ResolvedTrain& run, const ResolvedTrainData& data);

}  // namespace nadi::inline show
