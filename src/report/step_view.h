// What `nadi show` shows of a step: the part of one rank.
#pragma once

#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/rank_place.h"
#include "nadi/report/resolved_step.h"

namespace nadi {

struct StepView {
  const ResolvedStep& step;
  RankPlace place;
  ProgramSummary summary;             // of the rank's program
  std::int64_t model_parameters = 0;  // of the whole model
};

}  // namespace nadi
