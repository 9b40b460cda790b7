#include "nadi/checkpoint_conversion/hugging_face_target.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/megatron_checkpoint/torch_target.h"
#include "nadi/megatron_checkpoint/whole_names.h"
#include "nadi/torch_file/pickle_arena.h"

namespace nadi::inline files {
namespace {

constexpr std::array kOptimizerSuffixes{kFirstMoment, kSecondMoment, kMasterWeights};

bool is_float(FileDType dtype) {
  return dtype == FileDType::kF64 || dtype == FileDType::kF32 || dtype == FileDType::kBF16 ||
         dtype == FileDType::kF16;
}

// Tensors whose rows are the vocabulary.
bool has_vocabulary(const WholeNames& names, std::string_view parameter) {
  return parameter == names.words || (!names.output.empty() && parameter == names.output) ||
         (!names.output_bias.empty() && parameter == names.output_bias);
}

Shape shape_of(const WholeTensor& tensor, bool vocabulary_rows, std::int64_t vocabulary) {
  if (!vocabulary_rows || vocabulary == 0 || vocabulary == tensor.rows()) return tensor.shape;
  if (vocabulary > std::max(tensor.stored_rows, tensor.rows()))
    throw input_error({.file = tensor.place}, format("'{}' has {} rows, and a vocabulary of {} was asked for",
                                                     tensor.name, tensor.stored_rows, vocabulary));
  const auto extents = tensor.shape.extents();
  std::vector<std::int64_t> cut(extents.begin(), extents.end());
  cut[0] = vocabulary;
  return Shape(cut);
}

std::int64_t bytes_of(const WholeTensorToWrite& tensor) {
  return tensor.shape.elements() * size_of(tensor.dtype);
}

// Tensors in their order, a new shard where the next one would not fit.
std::vector<std::vector<WholeTensorToWrite>> in_shards(std::vector<WholeTensorToWrite> tensors, Bytes limit) {
  std::vector<std::vector<WholeTensorToWrite>> shards(1);
  std::int64_t filled = 0;
  for (WholeTensorToWrite& tensor : tensors) {
    const std::int64_t bytes = bytes_of(tensor);
    if (!shards.back().empty() && filled + bytes > limit.count()) {
      shards.emplace_back();
      filled = 0;
    }
    filled += bytes;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

TargetFile index_file(std::string name, std::span<const std::vector<WholeTensorToWrite>> shards,
                      std::span<const TargetFile> files) {
  std::int64_t total = 0;
  std::map<std::string, std::string> map;  // sorted, as transformers writes it
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const WholeTensorToWrite& tensor : shards[i]) {
      total += bytes_of(tensor);
      map.emplace(tensor.name, files[i].name);
    }
  Json index = Json::object();
  index["metadata"] = Json{{"total_size", total}};
  index["weight_map"] = map;
  const std::string text = dump_json(index);
  return {.name = std::move(name),
          .size = Bytes{static_cast<std::int64_t>(text.size())},
          .ready = {{.offset = 0, .bytes = text}}};
}

}  // namespace

ShardBlock block_of(const WholeTensorToWrite& tensor) {
  const std::int64_t rows = tensor.shape.rank() == 0 ? 1 : tensor.shape[0];
  const std::int64_t columns = tensor.shape.rank() == 0 ? 1 : tensor.shape.elements(1, tensor.shape.rank());
  return {.tensor = tensor.name, .block = {.rows = rows, .columns = columns}};
}

bool is_optimizer_state(const WholeModel& model, const WholeTensor& tensor) {
  return tensor.place == kTrainingTensorsFile || is_adam_state(model, tensor);
}

bool is_adam_state(const WholeModel& model, const WholeTensor& tensor) {
  return std::ranges::any_of(kOptimizerSuffixes, [&](std::string_view suffix) {
    return tensor.name.ends_with(suffix) &&
           model.find(std::string_view(tensor.name).substr(0, tensor.name.size() - suffix.size())) != nullptr;
  });
}

std::vector<WholeTensorToWrite> weights_to_write(const WholeModel& model, const HuggingFaceOptions& options) {
  const WholeNames names = whole_names(model.config());
  std::vector<WholeTensorToWrite> result;
  for (const WholeTensor& tensor : model.tensors()) {
    if (is_optimizer_state(model, tensor)) continue;
    result.push_back({.name = tensor.name,
                      .dtype = options.dtype && is_float(tensor.dtype) ? *options.dtype : tensor.dtype,
                      .shape = shape_of(tensor, has_vocabulary(names, tensor.name), options.vocabulary)});
  }
  return result;
}

std::vector<WholeTensorToWrite> optimizer_state_to_write(const WholeModel& model, std::int64_t vocabulary) {
  const WholeNames names = whole_names(model.config());
  std::vector<WholeTensorToWrite> result;
  for (const WholeTensor& tensor : model.tensors()) {
    if (!is_optimizer_state(model, tensor)) continue;
    const std::string_view parameter = std::string_view(tensor.name).substr(0, tensor.name.rfind('.'));
    result.push_back({.name = tensor.name,
                      .dtype = tensor.dtype,
                      .shape = shape_of(tensor, has_vocabulary(names, parameter), vocabulary)});
  }
  return result;
}

TargetFile safetensors_target(std::string name, std::vector<WholeTensorToWrite> tensors) {
  std::vector<TensorToWrite> described;
  std::map<std::string, const WholeTensorToWrite*> by_name;
  for (const WholeTensorToWrite& tensor : tensors) {
    described.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
    by_name.emplace(tensor.name, &tensor);
  }
  TargetFile file{.name = std::move(name), .size = {}, .safetensors = true};
  file.ready.push_back({.offset = 0, .bytes = safetensors_head(described)});
  auto offset = static_cast<std::int64_t>(file.ready[0].bytes.size());
  for (const TensorToWrite& next : described) {
    const WholeTensorToWrite& tensor = *by_name.at(next.name);
    if (tensor.bytes.empty()) {
      file.places.push_back(
          {.offset = offset, .dtype = tensor.dtype, .blocks = {block_of(tensor)}, .tensor = tensor.name});
    } else {
      check(static_cast<std::int64_t>(tensor.bytes.size()) == bytes_of(tensor), "bytes fill their tensor");
      file.ready.push_back({.offset = offset, .bytes = tensor.bytes, .tensor = tensor.name});
    }
    offset += bytes_of(tensor);
  }
  file.size = Bytes{offset};
  return file;
}

TargetFile torch_weights_target(std::string name, const std::vector<WholeTensorToWrite>& tensors) {
  PickleArena values;
  const PickleValue root = values.ordered_dict();
  std::map<const TorchStorage*, StorageContent> contents;
  for (const WholeTensorToWrite& tensor : tensors) {
    const TorchStorage& storage = values.storage(tensor.dtype, tensor.shape.elements());
    values.set(root, tensor.name,
               values.tensor({.storage = &storage, .dtype = tensor.dtype, .shape = tensor.shape}));
    contents.emplace(&storage, StorageContent{.dtype = tensor.dtype, .blocks = {block_of(tensor)}});
  }
  values.set_root(root);
  return torch_target(std::move(name), root, contents);
}

std::vector<TargetFile> hugging_face_files(const WholeModel& model, const HuggingFaceOptions& options) {
  const bool safe = options.format == WeightFormat::kSafetensors;
  const std::string_view stem = safe ? "model" : "pytorch_model";
  const std::string_view extension = safe ? ".safetensors" : ".bin";
  const auto shards = in_shards(weights_to_write(model, options), options.shard);
  std::vector<TargetFile> files;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::string name = shards.size() == 1
                           ? format("{}{}", stem, extension)
                           : format("{}-{:05}-of-{:05}{}", stem, i + 1, shards.size(), extension);
    files.push_back(safe ? safetensors_target(std::move(name), shards[i])
                         : torch_weights_target(std::move(name), shards[i]));
  }
  if (shards.size() > 1)
    files.push_back(index_file(format("{}{}.index.json", stem, extension), shards, files));
  return files;
}

}  // namespace nadi::inline files
