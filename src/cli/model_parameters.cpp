#include "nadi/cli/model_parameters.h"

#include "nadi/parallel/step_program.h"

namespace nadi {

// Counted in the graph, of which the smallest is enough.
std::int64_t model_parameters(const ModelConfig& config) {
  return build_step(config, {.kind = StepKind::kEvaluate}).parameter_count();
}

}  // namespace nadi
