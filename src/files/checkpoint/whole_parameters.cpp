#include "nadi/checkpoint/whole_parameters.h"

#include <map>

#include "nadi/graph/builder.h"
#include "nadi/model/expert_names.h"
#include "nadi/model/model.h"

namespace nadi::inline files {
namespace {

// Those of a model that has no other layer than this one, which has the number 0 in their names.
std::vector<WantedTensor> with_one_layer(ModelConfig config, bool sparse) {
  config.layers = 1;
  config.first_sparse_layer = sparse ? 0 : 1;
  config.sparse_step = 1;
  config.dense_layers.clear();
  GraphBuilder builder;
  const ForwardOptions options{.mode = ForwardMode::kEvaluate};
  Layers layers(builder, config, options);
  build_forward(config, layers);
  const Graph graph = builder.take();
  std::vector<WantedTensor> parameters;
  for (const TensorId id : graph.tensors_with(Role::kParameter)) {
    const Tensor& tensor = graph.tensor(id);
    if (!is_of_every_expert(tensor.name)) {
      parameters.push_back({tensor.name, tensor.shape});
      continue;
    }
    for (std::int64_t expert = 0; expert < tensor.shape[0]; ++expert)
      parameters.push_back({name_of_expert(tensor.name, expert), shape_of_expert(tensor.shape)});
  }
  return parameters;
}

}  // namespace

// Layers are alike but for their experts, and their parameters are the only ones with a number in their names; of an
// expert's, the layer's comes first.
std::vector<WantedTensor> whole_parameters(const ModelConfig& config) {
  constexpr std::string_view kNumber = ".0.";
  std::map<bool, std::vector<WantedTensor>> of_layer;  // with and without experts
  std::vector<WantedTensor> before, after;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const bool sparse = is_sparse(config, layer);
    if (of_layer.contains(sparse)) continue;
    std::vector<WantedTensor>& own = of_layer[sparse];
    before.clear();
    after.clear();
    for (WantedTensor& tensor : with_one_layer(config, sparse)) {
      const bool numbered = tensor.name.find(kNumber) != std::string::npos;
      (numbered ? own : own.empty() ? before : after).push_back(std::move(tensor));
    }
  }
  std::vector<WantedTensor> all = std::move(before);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    for (WantedTensor tensor : of_layer[is_sparse(config, layer)]) {
      tensor.name.replace(tensor.name.find(kNumber), kNumber.size(), "." + std::to_string(layer) + ".");
      all.push_back(std::move(tensor));
    }
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

}  // namespace nadi::inline files
