#include "nadi/checkpoint/pretrained_folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/model/config_file.h"
#include "nadi/model/model.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// What transformers puts in front of the names of a model within a model with a head.
constexpr std::array<std::string_view, 3> kModelPrefixes{"transformer.", "bert.", "model."};

// Their first axis is the vocabulary, besides the word embeddings'.
constexpr std::array<std::string_view, 3> kOutputLayers{"lm_head.weight", "cls.predictions.decoder.weight",
                                                        "cls.predictions.bias"};

// Endings as Google's first BERT had them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOldEndings{
    {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};

bool has_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Error no_weights(const fs::path& folder) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (has_file(folder / name))
      return input_error({.file = (folder / name).string()},
                         "weights in PyTorch's own format are not supported; safetensors is",
                         "load and save the model with transformers, which writes model.safetensors");
  return input_error({.file = folder.string()},
                     format("the folder holds neither {} nor {}", kWeights, kIndex));
}

}  // namespace

PretrainedFolder::PretrainedFolder(const fs::path& folder, std::string_view model_type) : folder_(folder) {
  expect_file_kind(folder, "a checkpoint folder", {FileKind::kFolder});
  config_ = read_model_config(folder / "config.json", model_type);
  if (has_file(folder / kWeights)) {
    files_.emplace_back(folder / kWeights);
    for (const SafetensorsTensor& tensor : files_[0].tensors())
      tensors_.emplace(tensor.name, PretrainedTensor{&files_[0], &tensor});
  } else if (has_file(folder / kIndex)) {
    open_shards(folder / kIndex);
  } else {
    throw no_weights(folder);
  }
}

// {"metadata": {"total_size": 16060522496}, "weight_map": {"lm_head.weight":
// "model-00004-of-00004.safetensors",
// ...}}
void PretrainedFolder::open_shards(const fs::path& index) {
  const JsonDocument document = read_json_of(index, "an index of weights", {FileKind::kWeightIndex});
  const JsonValue map = document.root().at("weight_map");
  const auto entries = map.items();
  std::set<std::string> shards;
  for (const auto& [name, shard] : entries) {
    const std::string& file = shard.as_string();
    if (file.empty() || file == "." || file == ".." || file.find('/') != std::string::npos)
      throw error_at(shard, "a shard is a file in the same folder");
    shards.insert(file);
  }
  files_.reserve(shards.size());  // tensors_ points into it
  std::map<std::string_view, const SafetensorsReader*> by_name;
  for (const std::string& shard : shards) {
    files_.emplace_back(folder_ / shard);
    by_name.emplace(shard, &files_.back());
  }
  for (const auto& [name, shard] : entries) {
    const SafetensorsReader& file = *by_name.at(shard.as_string());
    const SafetensorsTensor* tensor = file.find(name);
    if (tensor == nullptr)
      throw error_at_key(shard, format("tensor {} is not in '{}'", quoted_name(name), shard.as_string()));
    tensors_.emplace(name, PretrainedTensor{&file, tensor});
  }
}

// The names under which a file may have a parameter, the likeliest first.
std::vector<std::string> PretrainedFolder::names_of(const std::string& parameter) const {
  std::vector<std::string> names{parameter};
  const std::string_view words = model_of(config_.architecture).word_embeddings();
  if (parameter == "cls.predictions.bias") names.emplace_back("cls.predictions.decoder.bias");
  if (config_.tied_embeddings && (parameter == kOutputLayers[0] || parameter == kOutputLayers[1]))
    names.emplace_back(words);
  for (std::size_t i = 0, count = names.size(); i < count; ++i)
    for (const std::string_view prefix : kModelPrefixes)
      if (names[i].starts_with(prefix)) names.push_back(names[i].substr(prefix.size()));
  for (std::size_t i = 0, count = names.size(); i < count; ++i)
    for (const auto& [today, once] : kOldEndings)
      if (names[i].ends_with(today))
        names.push_back(names[i].substr(0, names[i].size() - today.size()) + std::string(once));
  return names;
}

PretrainedTensor PretrainedFolder::find(const std::string& parameter) const {
  const std::vector<std::string> names = names_of(parameter);
  for (const std::string& name : names)
    if (const auto found = tensors_.find(name); found != tensors_.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [name, tensor] : tensors_) known.push_back(name);
  std::string hint;
  for (const std::string& name : names) {
    const auto near = nearest(name, known);
    if (near && hint.empty()) hint = format("the nearest there is: {}", quoted_name(*near));
  }
  throw input_error({.file = files_.size() == 1 ? files_[0].file() : folder_.string()},
                    format("tensor '{}' is missing", parameter), std::move(hint));
}

void PretrainedFolder::check_shape(const WantedTensor& wanted, const PretrainedTensor& found) const {
  const Shape& shape = found.tensor->shape;
  if (shape == wanted.shape) return;
  const bool has_vocabulary = wanted.name == model_of(config_.architecture).word_embeddings() ||
                              std::ranges::find(kOutputLayers, wanted.name) != kOutputLayers.end();
  const bool rest_is_equal = shape.rank() > 0 && shape.rank() == wanted.shape.rank() &&
                             shape.slice(1, shape.rank()) == wanted.shape.slice(1, shape.rank());
  if (has_vocabulary && rest_is_equal)
    throw input_error({.file = found.file->file()},
                      format("tensor {}: the vocabulary has {} entries in the file and {} in the model",
                             quoted_name(found.tensor->name), shape[0], wanted.shape[0]));
  throw input_error({.file = found.file->file()},
                    format("tensor {}: the shape is {} in the file and {} in the model",
                           quoted_name(found.tensor->name), shape.to_string(), wanted.shape.to_string()));
}

PretrainedMatch PretrainedFolder::match(std::span<const WantedTensor> wanted) const {
  PretrainedMatch match;
  std::set<const SafetensorsTensor*> used;
  for (const WantedTensor& tensor : wanted) {
    match.tensors.push_back(find(tensor.name));
    check_shape(tensor, match.tensors.back());
    used.insert(match.tensors.back().tensor);
  }
  for (const SafetensorsReader& file : files_)
    for (const SafetensorsTensor& tensor : file.tensors())
      if (!used.contains(&tensor)) match.unused.push_back(tensor.name);
  std::ranges::sort(match.unused);
  return match;
}

}  // namespace nadi
