// A training run as it was decided: what it computes, and how it is logged and ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/megatron_log/log_lines.h"
#include "nadi/train/trainer.h"
#include "nadi/train/wandb_run.h"

namespace nadi::inline show {

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

}  // namespace nadi::inline show
