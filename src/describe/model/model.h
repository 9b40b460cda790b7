// A transformer as a recipe: what comes before the blocks, a block, what comes after, as its architecture
// describes them. Pipelines cut between these; build_forward() does all of them.
//
//   GraphBuilder builder;
//   Layers layers(builder, config, options);
//   build_forward(config, layers);
#pragma once

#include <cstdint>
#include <string>

#include "nadi/graph/tensor.h"
#include "nadi/model/layers.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

class Model {
 public:
  explicit Model(Architecture architecture) : architecture_(std::move(architecture)) {}

  // Token ids to the residual stream [B, T, width].
  TensorId embed(Layers& layers) const;
  // One transformer block.
  TensorId block(Layers& layers, std::int64_t number, TensorId x) const;
  // The residual stream to the loss or the next token.
  void head(Layers& layers, TensorId x) const;
  // Whether the model predicts the next token, and so can generate.
  bool generates() const { return architecture_->generates(); }
  // The parameter that the output layer uses, too, where they are tied.
  std::string word_embeddings() const { return architecture_->word_embeddings(); }

 private:
  TensorId norm(Layers& layers, TensorId x, const std::string& name) const;
  TensorId attend(Layers& layers, const BlockPart& part, TensorId x) const;
  TensorId feed_forward(Layers& layers, const BlockPart& part, TensorId x) const;
  double output_deviation(const ModelConfig& config) const;
  TensorId output_of(Layers& layers, const BlockPart& part, TensorId inner) const;
  TensorId add_part(Layers& layers, const BlockPart& part, TensorId x, TensorId y) const;

  Architecture architecture_;
};

inline Model model_of(const Architecture& architecture) {
  return Model(architecture);
}

void build_forward(const ModelConfig& config, Layers& layers);

}  // namespace nadi::inline describe
