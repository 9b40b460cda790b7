// What a study would begin with: its first commands, and nothing of it run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/tune/trial_command.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline ask {

struct FirstCommand {
  std::string role;  // "plan", "baseline", "first trial"
  TrialCommand command;
};
struct TuningPreview {
  std::optional<std::int64_t> grid = {};  // points of the space, where they can be counted
  std::vector<FirstCommand> commands = {};
};

// `first` are the trials that come before all others; where there are none, what the sampler suggests. Of many, the first
// `most`.
TuningPreview preview_tuning(const TuneStudy& tune, std::vector<NewTrial> first, std::size_t most = 5);

}  // namespace nadi::inline ask
