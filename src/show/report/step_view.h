// What `nadi show` shows of a step: the part of one rank.
#pragma once

#include <optional>
#include <string_view>

#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/rank_place.h"
#include "nadi/report/resolved_step.h"

namespace nadi::inline show {

// What a device makes of the rank's program.
struct DeviceView {
  std::string_view name;
  EngineMemory memory;
  std::int64_t ops = 0;      // of a step, views left out
  std::int64_t kernels = 0;  // that compute them
};

struct StepView {
  const ResolvedStep& step;
  RankPlace place;
  ProgramSummary summary;             // of the rank's program
  std::int64_t model_parameters = 0;  // of the whole model
  std::optional<DeviceView> device = {};
};

}  // namespace nadi::inline show
