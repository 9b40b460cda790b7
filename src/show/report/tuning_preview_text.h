// `nadi tune --dry-run`: the space and the first commands.
#pragma once

#include <iosfwd>

#include "nadi/studies/tuning_preview.h"
#include "nadi/tune/plan_guide.h"

namespace nadi::inline show {

// `guide`: nullptr where the study asks for no planner.
void print_tuning_preview(const TuneStudy& tune, const PlanGuide* guide, const TuningPreview& preview,
                          std::ostream& out);

}  // namespace nadi::inline show
