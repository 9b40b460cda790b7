#include "nadi/model/dropout.h"

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

bool has_hidden_dropout(const ModelConfig& config) {
  return config.architecture->hidden_dropout();
}

void set_dropout(ModelConfig& config, double rate) {
  config.attention_dropout = rate;
  if (has_hidden_dropout(config)) config.embedding_dropout = config.residual_dropout = rate;
}

}  // namespace nadi::inline describe
