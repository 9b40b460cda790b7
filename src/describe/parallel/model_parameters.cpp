#include "nadi/parallel/model_parameters.h"

#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

// Counted in the graph, of which the smallest is enough. Blocks are all alike, so two of them tell what each
// adds.
std::int64_t model_parameters(const ModelConfig& config) {
  const auto with_layers = [&](std::int64_t layers) {
    ModelConfig smaller = config;
    smaller.layers = layers;
    return build_step(smaller, {.kind = StepKind::kEvaluate}).parameter_count();
  };
  const std::int64_t one = with_layers(1);
  return one + (with_layers(2) - one) * (config.layers - 1);
}

}  // namespace nadi::inline describe
