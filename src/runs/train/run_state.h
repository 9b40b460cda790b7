// Where a training run stands: the numbers that its checkpoints keep (checkpoint/training_state.h), and what
// follows from them: the learning rate, the position in the data, the end of the run. The graph has counters
// of its own for the optimizer, which start from these numbers; both count alike.
//
//   RunState state(options, batches, data.train);
//   if (!options.resume_from.empty()) state.resume(listener);       // from a checkpoint of ours
//   if (megatron) state.resume(*megatron->progress(), dtype, listener);   // from one of another program
//   while (state.step() < state.total_steps()) {
//     ... compute the step ...
//     state.finish_step(samples);
//   }
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/data/batch_source.h"
#include "nadi/graph/learning_rate.h"
#include "nadi/graph/optimizer.h"
#include "nadi/train/batch_schedule.h"
#include "nadi/train/train_listener.h"

namespace nadi::inline runs {

struct TrainOptions;

class RunState {
 public:
  // All three must outlive the state.
  RunState(const TrainOptions& options, const BatchSchedule& batches, const BatchSource& data);

  // Continues from the checkpoint options.resume_from. Error (usage) when options or data are not those of
  // the run that wrote it; Error (input) for a damaged file. The listener hears of settings that have
  // changed.
  void resume(TrainListener& listener);
  // The same from what a checkpoint of Megatron-LM's says: its iteration and samples, Adam's numbers, the
  // schedule. What it does not say (the loss of the epoch so far, the best validation loss) begins anew, and
  // the data is taken for the same. `dtype` is that of its weights.
  void resume(const TrainingProgress& progress, FileDType dtype, TrainListener& listener);

  // For checkpoints.
  const TrainingState& saved() const { return state_; }

  std::int64_t step() const { return state_.step; }    // steps that are done
  std::int64_t epoch() const { return state_.epoch; }  // whole epochs that are done
  std::int64_t total_steps() const { return total_steps_; }
  std::int64_t samples_seen() const { return state_.samples_seen; }
  std::int64_t skipped() const;  // steps without an update
  // Samples of this epoch that its steps have read.
  std::int64_t samples_of_epoch() const;
  // Where the next step reads: at the end of an epoch, in the one that follows.
  struct Position {
    std::int64_t epoch = 0;
    std::int64_t samples = 0;
  };
  Position next_position() const;
  bool epoch_ends() const { return samples_of_epoch() >= data_.samples(); }
  // Mean loss over the tokens of this epoch; nothing when every step was skipped.
  std::optional<double> epoch_loss() const;
  std::optional<double> best_validation_loss() const { return state_.best_validation_loss; }

  // For the next step.
  std::int64_t batch_size() const { return batches_.size_of(state_.step + 1); }
  // Rate of the step with this number, from 1, as far as is known: a step before it that is found to have changed
  // nothing holds the schedule back.
  double learning_rate(std::int64_t step) const;

  // The optimizer with its schedules, whose lengths are known now and which may be those of the checkpoint.
  OptimizerOptions optimizer() const;
  // What the graph's counters hold before the next step (graph/ops/next_update.h), and how far that step
  // moves the schedules.
  std::int64_t updates() const;  // of this optimizer, so far
  std::int64_t schedule_position() const;
  std::int64_t schedule_advance() const;

  void finish_step(std::int64_t samples);
  void skip_update(std::int64_t samples);  // a finished step changed nothing
  void add_loss(double loss, std::int64_t tokens);
  void set_best_validation_loss(double loss) { state_.best_validation_loss = loss; }
  void finish_epoch();

 private:
  std::int64_t schedule_position(std::int64_t step) const;  // before it
  std::int64_t counted(const char* name) const;
  TrainingState fresh_state() const;
  TrainingState state_of(const TrainingProgress& progress, FileDType dtype, const std::string& file) const;
  // `file` is for messages.
  void go_on_from(TrainingState saved, const std::string& file, TrainListener& listener);

  const TrainOptions& options_;
  const BatchSchedule& batches_;
  const BatchSource& data_;
  LearningRate rate_;
  std::int64_t total_steps_ = 0;
  TrainingState state_;
};

}  // namespace nadi::inline runs
