// A transformer as a recipe: what comes before the blocks, a block, what comes after. Pipelines cut between
// these; build_forward() does all of them.
//
//   GraphBuilder builder;
//   Layers layers(builder, config, options);
//   build_forward(config, layers);
#pragma once

#include "nadi/graph/tensor.h"
#include "nadi/model/layers.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

class Model {
 public:
  virtual ~Model() = default;

  // Token ids to the residual stream [B, T, width].
  virtual TensorId embed(Layers& layers) const = 0;
  // One transformer block.
  virtual TensorId block(Layers& layers, std::int64_t number, TensorId x) const = 0;
  // The residual stream to the loss or the next token.
  virtual void head(Layers& layers, TensorId x) const = 0;
  // Whether the model predicts the next token, and so can generate.
  virtual bool generates() const = 0;
  // The parameter that the output layer uses, too, where they are tied.
  virtual std::string_view word_embeddings() const = 0;
};

// The model of an architecture; lives as long as the program.
const Model& model_of(Architecture architecture);

void build_forward(const ModelConfig& config, Layers& layers);

}  // namespace nadi::inline describe
