// The models of the steps that are measured on GPUs (bench/gpu.sh) and predicted (bench/other_steps.h), by
// the names that both use:
//
//   const std::optional<ModelConfig> model = gpu_bench_model("llama-1b");
//
// llama-1b has the shape of Llama 3.2 1B, llama-8b-4l is four layers of Llama 3.1 8B, both with plain rotary
// embeddings; bert-base is bert-base-uncased; every other name is that of a built-in model.
#pragma once

#include <optional>
#include <string_view>

#include "nadi/model/model_config.h"

namespace nadi {

std::optional<ModelConfig> gpu_bench_model(std::string_view name);  // none: no model has this name

}  // namespace nadi
