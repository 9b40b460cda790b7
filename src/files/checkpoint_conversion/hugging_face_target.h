// The files of a Hugging Face folder as a conversion writes them: weights, whole or in shards with an index,
// and what stands beside them.
//
//   const std::vector<TargetFile> files = hugging_face_files(model, {.dtype = FileDType::kBF16});
//
// Weights are those that transformers' save_pretrained() writes: model.safetensors, or
// model-00001-of-00004.safetensors and model.safetensors.index.json where they are larger than a shard may
// be; as pytorch_model.bin alike.
//
// A checkpoint of ours is such a folder, of one file, with training_state.safetensors and
// training_state.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline files {

struct HuggingFaceOptions {
  WeightFormat format = WeightFormat::kSafetensors;
  // Type of parameters that have a floating-point type; not set means each has its own.
  std::optional<FileDType> dtype = {};
  // Rows of the vocabulary that are written; 0 means as many as the model has.
  std::int64_t vocabulary = 0;
  Bytes shard{5'000'000'000};  // transformers' choice
};

// A tensor of a target that is a tensor of the whole model, or its first rows, or bytes that are known.
struct WholeTensorToWrite {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  std::string bytes = {};
};

// All of it.
ShardBlock block_of(const WholeTensorToWrite& tensor);

// The parameters of a model, without optimizer state, as a target has them. Error (input) when the vocabulary
// has fewer rows than are wanted.
std::vector<WholeTensorToWrite> weights_to_write(const WholeModel& model, const HuggingFaceOptions& options);
// The rest.
std::vector<WholeTensorToWrite> optimizer_state_to_write(const WholeModel& model,
                                                         std::int64_t vocabulary = 0);

// Whether a tensor of a whole model belongs to the training: "<parameter>.m", ".v", ".master", and what else
// the training state of a checkpoint of ours holds.
bool is_optimizer_state(const WholeModel& model, const WholeTensor& tensor);
// Only "<parameter>.m", ".v" and ".master" are.
bool is_adam_state(const WholeModel& model, const WholeTensor& tensor);

// One safetensors file with these tensors.
TargetFile safetensors_target(std::string name, std::vector<WholeTensorToWrite> tensors);

// A torch.save file with these tensors: a dictionary, as pytorch_model.bin is.
TargetFile torch_weights_target(std::string name, const std::vector<WholeTensorToWrite>& tensors);

// The weights in as many files as they need, and their index.
std::vector<TargetFile> hugging_face_files(const WholeModel& model, const HuggingFaceOptions& options);

}  // namespace nadi::inline files
