#include "nadi/model/model.h"

#include "nadi/model/architectures.h"

namespace nadi::inline describe {

void build_forward(const ModelConfig& config, Layers& layers) {
  const Model& model = model_of(config.architecture);
  TensorId x = model.embed(layers);
  for (std::int64_t number = 0; number < config.layers; ++number) {
    const auto scope = layers.builder().in_block(static_cast<std::int32_t>(number));
    x = model.block(layers, number, x);
  }
  model.head(layers, x);
}

}  // namespace nadi::inline describe
