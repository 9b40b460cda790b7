// Trains a model on one rank or many: steps, evaluation, checkpoints, traces.
//
//   TrainOptions options{.config = config, .batch_size = 4, .seq_length = 512, .save_dir = "run"};
//   SingleProcess world;                                      // or the world of an MpiSession
//   const TrainResult result = train(options, {batches, &validation, &tokenizer}, world, listener,
//   stop_asked);
//
// All ranks of the plan call train() with the same options and the same data. Each computes its part; the
// listener and the result get the same numbers on all of them.
//
// A run writes to its folder: checkpoint-<step>/ with everything that continuing needs, and best_model/, the
// weights with the lowest validation loss so far. Both are Hugging Face folders, and each appears whole or
// not at all. A run that continues from a checkpoint computes the same bits as a run that was never stopped.
// With another SaveForm its checkpoints are iter_<step>/, as Megatron-LM has them, and continue alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "nadi/base/checked_memory.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/parameter_layout.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/run/run_recorder.h"
#include "nadi/train/batch_schedule.h"
#include "nadi/train/train_listener.h"

namespace nadi::inline files {
class BatchSource;
class Tokenizer;
}  // namespace nadi::inline files
namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

// Which schedules a run continues with when its options have other schedules than its checkpoint.
enum class ScheduleOnResume : std::uint8_t {
  kNewWithNote,  // those of the options, with a note to the listener
  kNew,          // those of the options
  kOfCheckpoint,
};

// The form of a run's checkpoints: Nadi's, or those of Megatron-LM (--ckpt-format), in files by the run's
// plan.
enum class SaveForm : std::uint8_t { kNadi, kTorch, kTorchDist };

// Steps, counted from 1, that are for a profiler from outside (Engine::mark_profiler_range()).
struct ProfilerRange {
  std::int64_t first = 0, last = 0;
  std::set<std::int64_t> ranks = {};  // empty means all
};

struct TrainOptions {
  ModelConfig config;
  Plan plan = {};  // its micro_batches are filled in by train()
  DType dtype = DType::kF32;
  // A total of 0 of its learning rate is filled in by train(): the length of the run; and so is the length of
  // its weight-decay schedule.
  OptimizerOptions optimizer = {};
  Recompute recompute = {};
  bool fused_attention = true;
  ExpertOptions experts = {};
  // For each data-parallel rank: samples at a time, and how many such micro-batches make a step.
  std::int64_t batch_size = 4;
  std::int64_t accumulation = 1;
  // Samples of each step on all ranks, where they change: then accumulation is that of the largest step.
  std::optional<BatchSchedule> batches = {};
  std::int64_t bucket_elements = kBucketsAsTheyFit;  // gradients that are reduced at once
  std::int64_t seq_length = 512;
  std::int64_t epochs = 3;
  std::int64_t max_steps = 0;  // optimizer steps; 0 means the epochs decide
  std::uint64_t seed = 42;
  DeviceKind device = DeviceKind::kCpu;
  MathOptions math = {};  // of GPUs
  int threads = 0;        // of each rank; 0 means one per core
  double slowdown = 1;    // computes that many times slower, for experiments with mixed speeds

  bool evaluate = true;                 // at the end of every epoch
  std::int64_t eval_steps = 0;          // and every so many steps; 0 disables it
  std::int64_t save_steps = 0;          // checkpoint every so many steps; 0 means at the end of every epoch
  std::int64_t save_total_limit = 0;    // checkpoints that are kept, newest first; 0 means all
  std::filesystem::path save_dir = {};  // empty means nothing is saved
  WeightFormat save_format = WeightFormat::kSafetensors;
  SaveForm save_form = SaveForm::kNadi;
  MegatronNaming save_names = MegatronNaming::kTransformerEngine;  // of the norms, with SaveForm::kTorch
  bool save_optimizer = true;  // off: a run goes on from the checkpoints with a fresh optimizer only
  // Removes the checkpoints of another run in save_dir once this run has its first: else resuming would take
  // the newest of the other run.
  bool replace_checkpoints = false;

  // Whether what is loaded is checked against its checksums.
  Verify verify = Verify::kYes;
  // Weights to start from: a Hugging Face folder, or an iteration of Megatron-LM's; empty means random weights.
  std::filesystem::path init_from = {};
  // Checkpoint to continue from: of ours, or an iteration of Megatron-LM's; empty means from the start.
  std::filesystem::path resume_from = {};
  // Off: continues with the weights and the step of the checkpoint, but with a fresh optimizer and a fresh
  // learning-rate schedule.
  bool resume_optimizer = true;
  ScheduleOnResume schedule_on_resume = ScheduleOnResume::kNewWithNote;

  std::optional<RecorderOptions> trace = {};
  std::optional<ProfilerRange> profiler_range = {};
  bool time_parts = false;                     // the parts of a step are timed: see StepReport::parts
  std::filesystem::path tensorboard_dir = {};  // empty means no event file
};

// Samples of a step on all ranks, of the largest step where batches change.
std::int64_t global_batch_of(const TrainOptions& options);

// Batches of train: of the (largest) whole step, batch_size * accumulation * plan.dp samples; of validation:
// of all data-parallel ranks, batch_size * plan.dp.
struct TrainData {
  BatchSource& train;
  BatchSource* validation = nullptr;     // may be absent when nothing is evaluated
  const Tokenizer* tokenizer = nullptr;  // goes into checkpoints; absent where data came as tokens
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
  // Files of this rank, on rank 0 with the Kineto file of all ranks; nothing when none was written.
  std::optional<RunTraceFiles> trace = {};
};

// The memory of a step on a rank, as the engine will lay it out.
MemorySummary predicted_memory(const TrainOptions& options, Rank rank);

// The same with everything that the engine of the options' device takes beside: workspaces, padding, inputs.
EngineMemory predicted_engine_memory(const TrainOptions& options, Rank rank);

// `stop_asked` is called after every step: when it is true on one rank, a checkpoint is saved and the run
// ends. Throws Error: usage for options that contradict each other or the checkpoint, input for damaged
// files, environment for a full disk or too little memory, infeasible when the loss is not finite.
TrainResult train(const TrainOptions& options, const TrainData& data, Communicator& world,
                  TrainListener& listener, const std::function<bool()>& stop_asked);

}  // namespace nadi::inline runs
