#include "nadi/plan/plan_confirmation.h"

#include "nadi/parallel/stage_programs.h"

namespace nadi::inline predict {

SimulationResult simulate_plan(const PlanQuestion& question, const PlanCandidate& candidate,
                               bool keep_times) {
  const StepRequest request = request_of(question, candidate);
  SimulationOptions options{.collective = question.collective,
                            .overlap = question.overlap,
                            .placement = devices_of(question.cluster, candidate.nodes),
                            .keep_times = keep_times};
  if (question.layer_times)
    options.retime = question.layer_times->retime(question.config, request, candidate.plan);
  const StagePrograms programs(question.config, request, candidate.plan);
  return simulate_step(programs, question.cluster, options);
}

}  // namespace nadi::inline predict
