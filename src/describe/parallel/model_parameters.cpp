#include "nadi/parallel/model_parameters.h"

#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

// Counted in the graph, of which the smallest is enough. Blocks are alike but for their experts, so two of a kind tell
// what each adds.
std::int64_t model_parameters(const ModelConfig& config) {
  const auto with_layers = [&](std::int64_t layers, bool sparse) {
    ModelConfig smaller = config;
    smaller.layers = layers;
    smaller.first_sparse_layer = sparse ? 0 : layers;
    smaller.sparse_step = 1;
    smaller.dense_layers.clear();
    return build_step(smaller, {.kind = StepKind::kEvaluate}).parameter_count();
  };
  const std::int64_t sparse = sparse_layers(config), dense = config.layers - sparse;
  std::int64_t sum = 0, outside = 0;
  for (const auto& [layers, is_sparse] : {std::pair(sparse, true), std::pair(dense, false)}) {
    if (layers == 0) continue;
    const std::int64_t one = with_layers(1, is_sparse), two = with_layers(2, is_sparse);
    sum += (two - one) * layers;
    outside = one - (two - one);
  }
  return sum + outside;
}

std::int64_t active_parameters(const ModelConfig& config) {
  const std::int64_t idle = config.experts - config.experts_per_token;
  return model_parameters(config) - sparse_layers(config) * idle * 3 * config.width * config.expert_width;
}

}  // namespace nadi::inline describe
