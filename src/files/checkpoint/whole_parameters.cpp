#include "nadi/checkpoint/whole_parameters.h"

#include "nadi/graph/builder.h"
#include "nadi/model/model.h"

namespace nadi::inline files {

// Layers are all alike, and their parameters are the only ones with a number in their names.
std::vector<WantedTensor> whole_parameters(const ModelConfig& config) {
  constexpr std::string_view kNumber = ".0.";
  ModelConfig smallest = config;
  smallest.layers = 1;
  GraphBuilder builder;
  const ForwardOptions options{.mode = ForwardMode::kEvaluate};
  Layers layers(builder, smallest, options);
  build_forward(smallest, layers);
  const Graph graph = builder.take();

  std::vector<WantedTensor> before, of_layer, after;
  for (const TensorId id : graph.tensors_with(Role::kParameter)) {
    const Tensor& tensor = graph.tensor(id);
    const bool numbered = tensor.name.find(kNumber) != std::string::npos;
    (numbered ? of_layer : of_layer.empty() ? before : after).push_back({tensor.name, tensor.shape});
  }
  std::vector<WantedTensor> all = std::move(before);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    for (WantedTensor tensor : of_layer) {
      tensor.name.replace(tensor.name.find(kNumber), kNumber.size(), "." + std::to_string(layer) + ".");
      all.push_back(std::move(tensor));
    }
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

}  // namespace nadi::inline files
