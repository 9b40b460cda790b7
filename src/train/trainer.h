// Trains a model on one machine: steps, evaluation, checkpoints, traces.
//
//   TrainOptions options{.config = config, .batch_size = 4, .seq_length = 512, .save_dir = "run"};
//   const TrainResult result = train(options, {samples, &validation, tokenizer}, listener, stop_asked);
//
// What a run leaves in its folder: checkpoint-<step>/ with everything that continuing needs, and best_model/,
// the weights with the lowest validation loss so far. Both are Hugging Face folders, and each appears whole
// or not at all. A run that is continued from a checkpoint computes the same bits as one that was never
// stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/data/sample_set.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/model_config.h"
#include "nadi/train/learning_rate.h"
#include "nadi/train/run_recorder.h"

namespace nadi {

class Tokenizer;

struct TrainOptions {
  ModelConfig config;
  DType dtype = DType::kF32;
  OptimizerOptions optimizer = {};
  Recompute recompute = {};
  std::int64_t batch_size = 4;    // samples at a time
  std::int64_t accumulation = 1;  // batches whose gradients are added up for one optimizer step
  std::int64_t seq_length = 512;
  LearningRate learning_rate = {};  // its total_steps are filled in by train()
  std::int64_t epochs = 3;
  std::int64_t max_steps = 0;  // optimizer steps; 0: as the epochs have it
  std::uint64_t seed = 42;
  int threads = 0;  // 0: one per core

  bool evaluate = true;                 // at the end of every epoch
  std::int64_t eval_steps = 0;          // and every so many steps; 0: not
  std::int64_t save_steps = 0;          // checkpoint every so many steps; 0: at the end of every epoch
  std::int64_t save_total_limit = 0;    // checkpoints that are kept, newest first; 0: all
  std::filesystem::path save_dir = {};  // empty: nothing is saved
  // Checkpoints of another run in save_dir go as soon as this one has its first: else the newest, from which
  // one continues, would be theirs.
  bool replace_checkpoints = false;

  std::filesystem::path init_from = {};    // Hugging Face folder to start from; empty: random weights
  std::filesystem::path resume_from = {};  // checkpoint to continue from; empty: from the start

  std::optional<RecorderOptions> trace = {};
  std::filesystem::path tensorboard_dir = {};  // empty: no event file
};

struct TrainData {
  const SampleSet& train;
  const SampleSet* validation = nullptr;  // may be absent when nothing is evaluated
  const Tokenizer& tokenizer;
};

struct StepReport {
  std::int64_t step = 0;  // from 1, as the other counts
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;
  double loss = 0;  // mean over the tokens that count
  double learning_rate = 0;
  double grad_norm = 0;
  std::optional<double> loss_scale = {};  // fp16
  bool skipped = false;                   // fp16: gradients overflowed and nothing was updated
  std::int64_t skipped_steps = 0;         // so far
  std::int64_t tokens = 0;                // that the step read, without padding
  double seconds = 0;
};

struct EvaluationReport {
  std::int64_t step = 0;
  double loss = 0;
  bool best = false;
  double seconds = 0;
};

struct EpochReport {
  std::int64_t epoch = 0;  // from 1
  double train_loss = 0;   // mean over the tokens of the epoch
  std::optional<double> validation_loss = {};
};

// What a run tells while it goes on.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void note(const std::string& text) = 0;  // something the user should know
  virtual void started(std::int64_t first_step, std::int64_t total_steps) = 0;
  virtual void step(const StepReport& report) = 0;
  virtual void evaluating(std::int64_t done, std::int64_t batches) = 0;
  virtual void evaluated(const EvaluationReport& report) = 0;
  virtual void epoch(const EpochReport& report) = 0;
  virtual void saved(const std::filesystem::path& path) = 0;
  virtual void traced(const RunTraceFiles& files) = 0;
};

struct TrainResult {
  std::int64_t steps = 0;                 // of the whole run, earlier parts included
  bool stopped = false;                   // before its end, as asked
  std::optional<double> first_loss = {};  // of this part of the run
  std::optional<double> last_loss = {};
  std::optional<double> best_validation_loss = {};
  std::int64_t skipped_steps = 0;
  std::int64_t tokens = 0;  // of this part
  double seconds = 0;       // of its steps
  std::filesystem::path last_checkpoint = {};
  std::filesystem::path best_model = {};
  std::optional<RunTraceFiles> trace = {};  // nothing when none was written
};

// `stop_asked` is looked at after every step: then a checkpoint is saved and the run ends. Throws Error:
// usage for options that contradict each other or the checkpoint, input for damaged files, environment for a
// full disk or too little memory, infeasible when the loss is not finite.
TrainResult train(const TrainOptions& options, const TrainData& data, TrainListener& listener,
                  const std::function<bool()>& stop_asked);

}  // namespace nadi
