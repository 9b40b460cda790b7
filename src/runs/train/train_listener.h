// What a run reports while it trains: each step, each evaluation, each epoch, and the files it writes. Logs
// implement TrainListener.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/train/expert_balance.h"

namespace nadi::inline traces {
struct RunTraceFiles;
}  // namespace nadi::inline traces

namespace nadi::inline runs {

// How long a part of a step took, on each rank.
struct StepPart {
  std::string_view name;  // Megatron's: "batch-generator", "forward-backward", "optimizer"
  std::vector<double> seconds = {};
};

struct StepReport {
  std::int64_t step = 0;  // from 1, as the other counts
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;
  double loss = 0;  // mean over the tokens that count
  double learning_rate = 0;
  double next_learning_rate = 0;          // of the step after this one
  std::optional<double> grad_norm = {};   // where the step takes it (takes_grad_norm())
  std::optional<double> loss_scale = {};  // fp16
  bool skipped = false;                   // fp16: gradients overflowed and nothing was updated
  std::int64_t skipped_steps = 0;         // so far
  std::int64_t tokens = 0;                // that the step read on all ranks, without padding
  std::int64_t global_batch = 0;          // samples of the step, on all ranks
  std::int64_t consumed_samples = 0;      // so far
  Bytes memory = {};                      // that this rank's engine holds
  double seconds = 0;
  std::optional<ExpertBalance> experts = {};  // of models that have them
  std::vector<StepPart> parts = {};           // in their order; empty unless TrainOptions::time_parts
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

// Hears of a run as it goes on.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void note(const std::string& text) = 0;  // for the user
  virtual void started(std::int64_t first_step, std::int64_t total_steps) = 0;
  virtual void step(const StepReport& report) = 0;
  virtual void evaluating(std::int64_t done, std::int64_t batches) = 0;
  virtual void evaluated(const EvaluationReport& report) = 0;
  virtual void epoch(const EpochReport& report) = 0;
  virtual void saved(const std::filesystem::path& path) = 0;
  virtual void traced(const RunTraceFiles& files) = 0;
};

}  // namespace nadi::inline runs
