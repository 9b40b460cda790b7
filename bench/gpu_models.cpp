#include "gpu_models.h"

#include "nadi/model/catalogue.h"

namespace nadi {

std::optional<ModelConfig> gpu_bench_model(std::string_view name) {
  if (name != "llama-1b" && name != "llama-8b-4l") {
    const ModelConfig* found = find_built_in_model(name == "bert-base" ? "bert-base-uncased" : name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  ModelConfig config = *find_built_in_model("llama3.1-8b");
  config.name = name;
  config.positions = 8192;
  config.rotary = {};
  config.layers = 4;
  if (name == "llama-8b-4l") return config;
  config.layers = 16;
  config.width = 2048;
  config.head_width = 64;
  config.ffn_width = 8192;
  config.tied_embeddings = true;
  return config;
}

}  // namespace nadi
