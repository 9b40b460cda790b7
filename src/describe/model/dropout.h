// The dropout rates of a model, set together.
#pragma once

namespace nadi::inline describe {

struct ModelConfig;

// Whether the model drops embeddings and the residual stream, besides attention.
bool has_hidden_dropout(const ModelConfig& config);

// Sets every rate that the model has.
void set_dropout(ModelConfig& config, double rate);

}  // namespace nadi::inline describe
