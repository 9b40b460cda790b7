// Between an engine that holds a whole model and the files of a Hugging Face folder. For the ranks of a plan,
// and for what training needs besides the weights: sharded_state.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/checkpoint/weight_file.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline ground {
class AtomicFolder;
}  // namespace nadi::inline ground
namespace nadi::inline describe {
struct ModelConfig;
}  // namespace nadi::inline describe
namespace nadi::inline files {
class Tokenizer;
}  // namespace nadi::inline files
namespace nadi::inline engines {
class Engine;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

// Reads every parameter that the engine has from a Hugging Face folder, converted to the engine's element
// types. Returns the names in the files that were not used. Error (input) when one is missing or has another
// shape; nothing is changed then.
std::vector<std::string> load_weights(Engine& engine, const std::filesystem::path& folder);

// config.json, the weights in one of the formats and the tokenizer's files.
void write_model(AtomicFolder& folder, const Engine& engine, const ModelConfig& config,
                 const Tokenizer& tokenizer, WeightFormat saved_as = WeightFormat::kSafetensors);

// What stands beside the weights: config.json for weights of this type, and the tokenizer's files. Without a
// tokenizer the configuration names no special tokens.
void write_config_and_tokenizer(AtomicFolder& folder, const ModelConfig& config, DType dtype,
                                const Tokenizer* tokenizer);

}  // namespace nadi::inline runs
