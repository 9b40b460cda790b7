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
#include "nadi/checkpoint/safetensors_header.h"
#include "nadi/model/config_file.h"
#include "nadi/model/model.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// What transformers puts in front of the names of a model within a model with a head: "model.".
std::string model_prefix(const ArchitectureDescription& architecture) {
  const std::string& scope = architecture.embedding.scope;
  return scope.substr(0, scope.find('.')) + ".";
}

// Endings as Google's first BERT had them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOldEndings{
    {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};

bool has_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Error no_weights(const fs::path& folder) {
  std::vector<std::string_view> names;
  for (const WeightFormatEntry& entry : weight_formats())
    names.insert(names.end(), {entry.file, entry.index});
  return input_error({.file = folder.string()},
                     format("the folder holds none of {}", fmt::join(names, ", ")));
}

}  // namespace

bool has_weights(const fs::path& folder) {
  return std::ranges::any_of(weight_formats(), [&](const WeightFormatEntry& entry) {
    return has_file(folder / entry.file) || has_file(folder / entry.index);
  });
}

WeightChecks PretrainedFolder::checks() const {
  if (verify_ == Verify::kNo) return {};
  return {.memory = memory_.get(), .manifest = manifest()};
}

std::vector<std::string> PretrainedFolder::notes() const {
  std::vector<std::string> notes;
  if (verify_ == Verify::kNo) return notes;
  for (const WeightFile& file : files_)
    if (file.lacks_checksums()) notes.push_back(no_checksums_note(file.file()));
  return notes;
}

PretrainedFolder::PretrainedFolder(const fs::path& folder, std::string_view model_type, Verify verify)
    : folder_(folder), verify_(verify), memory_(std::make_unique<CheckedMemory>()) {
  expect_file_kind(folder, "a checkpoint folder", {FileKind::kFolder});
  if (verify_ == Verify::kYes) manifest_ = ChecksumManifest::read(folder);
  if (manifest_) manifest_->check_files();
  config_ = read_model_config(folder / "config.json", model_type);
  for (const WeightFormatEntry& entry : weight_formats()) {
    format_ = entry.format;
    if (has_file(folder / entry.file)) {
      files_.emplace_back(folder / entry.file, format_, checks());
      for (const WeightTensor& tensor : files_[0].tensors()) tensors_.emplace(tensor.name(), &tensor);
      return;
    }
    if (has_file(folder / entry.index)) {
      open_shards(folder / entry.index);
      return;
    }
  }
  throw no_weights(folder);
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
  std::map<std::string_view, std::size_t> by_name;
  for (const std::string& shard : shards) {
    by_name.emplace(shard, files_.size());
    files_.emplace_back(folder_ / shard, format_, checks());
  }
  for (const auto& [name, shard] : entries) {
    const WeightTensor* const tensor = files_[by_name.at(shard.as_string())].find(name);
    if (tensor == nullptr)
      throw error_at_key(shard, format("tensor {} is not in '{}'", quoted_name(name), shard.as_string()));
    tensors_.emplace(name, tensor);
  }
}

// The names under which a file may have a parameter, the likeliest first.
std::vector<std::string> PretrainedFolder::names_of(const std::string& parameter) const {
  std::vector<std::string> names{parameter};
  const ArchitectureDescription::Output& output = config_.architecture->output;
  if (parameter == output.bias && !output.bias_also.empty()) names.push_back(output.bias_also);
  if (config_.tied_embeddings && parameter == output.weight)
    names.push_back(config_.architecture->word_embeddings());
  const std::string prefix = model_prefix(*config_.architecture);
  for (std::size_t i = 0, count = names.size(); i < count; ++i)
    if (names[i].starts_with(prefix)) names.push_back(names[i].substr(prefix.size()));
  for (std::size_t i = 0, count = names.size(); i < count; ++i)
    for (const auto& [today, once] : kOldEndings)
      if (names[i].ends_with(today))
        names.push_back(names[i].substr(0, names[i].size() - today.size()) + std::string(once));
  return names;
}

const WeightTensor& PretrainedFolder::find(const std::string& parameter) const {
  const std::vector<std::string> names = names_of(parameter);
  for (const std::string& name : names)
    if (const auto found = tensors_.find(name); found != tensors_.end()) return *found->second;
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

void PretrainedFolder::check_shape(const WantedTensor& wanted, const WeightTensor& found) const {
  const Shape& shape = found.shape();
  if (shape == wanted.shape) return;
  const ArchitectureDescription& architecture = *config_.architecture;
  const bool has_vocabulary = wanted.name == architecture.word_embeddings() ||
                              wanted.name == architecture.output.weight ||
                              wanted.name == architecture.output.bias;
  const bool rest_is_equal = shape.rank() > 0 && shape.rank() == wanted.shape.rank() &&
                             shape.slice(1, shape.rank()) == wanted.shape.slice(1, shape.rank());
  if (has_vocabulary && rest_is_equal)
    throw input_error({.file = found.file()},
                      format("tensor {}: the vocabulary has {} entries in the file and {} in the model",
                             quoted_name(found.name()), shape[0], wanted.shape[0]));
  throw input_error({.file = found.file()},
                    format("tensor {}: the shape is {} in the file and {} in the model",
                           quoted_name(found.name()), shape.to_string(), wanted.shape.to_string()));
}

PretrainedMatch PretrainedFolder::match(std::span<const WantedTensor> wanted) const {
  PretrainedMatch match;
  std::set<const WeightTensor*> used;
  for (const WantedTensor& tensor : wanted) {
    const WeightTensor& found = find(tensor.name);
    check_shape(tensor, found);
    match.tensors.push_back(&found);
    used.insert(&found);
  }
  for (const WeightFile& file : files_) {
    for (const WeightTensor& tensor : file.tensors())
      if (!used.contains(&tensor)) match.unused_tensors.push_back(&tensor);
    for (const std::string& name : file.other_entries()) match.unused.push_back(name);
  }
  std::ranges::sort(match.unused_tensors, {}, &WeightTensor::name);
  for (const WeightTensor* tensor : match.unused_tensors) match.unused.push_back(tensor->name());
  std::ranges::sort(match.unused);
  return match;
}

}  // namespace nadi::inline files
