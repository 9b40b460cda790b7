// The flags of `nadi train` as the options of a run, with all defaults. Contradictions are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/megatron_log/log_lines.h"
#include "nadi/train/trainer.h"
#include "nadi/train/wandb_run.h"

namespace nadi::inline show {

class Flags;

enum class LogFormat : std::uint8_t { kNadi, kMegatron };

struct ResolvedTrain {
  TrainOptions options;
  std::string model;  // as it was named
  LogFormat log_format = LogFormat::kNadi;
  std::int64_t logging_steps = 1;
  bool log_throughput = false;
  int timing_level = 0;  // Megatron's: from 1 on the parts of a step are timed
  TimingOption timing_option = TimingOption::kMinMax;
  std::int64_t eval_iterations = 0;        // with --data-path: global batches that are validated on
  std::int64_t exit_interval = 0;          // the run ends after a step that this divides; 0 disables it
  std::int64_t exit_minutes = 0;           // the run ends after this time; 0 disables it
  std::optional<WandbOptions> wandb = {};  // without settings and clock: an offline run is written
  std::vector<std::string> notes;          // what the user should know before the run starts
};

// For a rank of a world of `ranks`. The vocabulary of the model is 0 where only the data can tell. Error
// (usage) with the numbers for flags that contradict each other, the model or the ranks.
ResolvedTrain resolve_train(const Flags& flags, std::int64_t ranks, Rank rank);

// Samples of all steps of a run of which max_steps are known, and as many as --train-samples has, by which Megatron
// makes index maps; 0 where neither is known.
std::int64_t samples_of(const Flags& flags, const TrainOptions& options);

}  // namespace nadi::inline show
