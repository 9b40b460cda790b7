// What a step is on one of its ranks, counted without running it: what `nadi show` is asked of a model.
//
//   const StepAnswer answer = describe_step({.step = {.model = "gpt2-xl", .plan = {.dp = 4, .pp = 8}}, .rank = 7});
//   answer.summary.total().cost.flops(), answer.summary.memory.total()
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/rank_place.h"
#include "nadi/step/step_question.h"

namespace nadi::inline ask {

struct RankQuestion {
  StepQuestion step = {};
  std::int64_t rank = 0;  // whose part of the step it is
  // Also what the engine of this device (devices/make_engine.h) takes, and whose type is the default; "": of none.
  std::string device = {};
  bool deterministic = false;  // of that engine: kernels that give the same bits again
};

// What a device makes of the rank's program.
struct DeviceAnswer {
  std::string_view name;
  EngineMemory memory;
  std::int64_t ops = 0;      // of a step, views left out
  std::int64_t kernels = 0;  // that compute them
};

struct StepAnswer {
  ResolvedStep step;
  RankPlace place;
  ProgramSummary summary;             // of the rank's program
  std::int64_t model_parameters = 0;  // of the whole model
  std::optional<DeviceAnswer> device = {};
};

// As resolve_step(). Error (usage) for an unknown device.
ResolvedStep resolve(const RankQuestion& question);

// Error (usage) for a rank that the plan does not have, a device that plans no memory, and as build_step() throws.
StepAnswer describe_step(const RankQuestion& question);
StepAnswer describe_step(const RankQuestion& question, ResolvedStep step);

// The rank's program itself.
Program program_of(const RankQuestion& question, const ResolvedStep& step);

}  // namespace nadi::inline ask
