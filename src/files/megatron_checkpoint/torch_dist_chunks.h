// How Nadi cuts a model for a torch_dist folder: which chunk of which tensor is made of which blocks of the
// whole model, and in which of several files it goes.
//
//   const std::vector<PlannedChunk> chunks = torch_dist_chunks(model, layout, {.optimizer = true});
//
// A chunk is a layer of a stacked tensor, or a tensor; larger ones are cut by rows. Files get chunks in the
// order of the model, each the file that has least so far: so that several threads write alike, and the same
// model gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/chunked_tensor.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

struct TorchDistCut {
  bool optimizer = true;                // where the model has it
  bool distributed_optimizer = false;   // its tensors flattened (chunked_tensor.h)
  std::optional<FileDType> dtype = {};  // of parameters; nothing means their own
  std::int64_t files = 8;
  std::int64_t largest_chunk = std::int64_t{256} << 20;  // in bytes; one row may be more
};

struct PlannedChunk {
  std::size_t tensor = 0;  // in PlannedTensors::tensors
  TensorBox box = {};      // in the tensor as it is stored
  std::vector<ShardBlock> blocks = {};
  std::size_t file = 0;
};

struct PlannedTensor {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  Shape flattened = {};  // rank 0: it is stored as it is
};

struct PlannedTensors {
  std::vector<PlannedTensor> tensors = {};
  std::vector<PlannedChunk> chunks = {};
};

PlannedTensors torch_dist_chunks(const WholeModel& model, const ShardLayout& layout, const TorchDistCut& cut);

// Whether the first axis of a global tensor are the layers.
bool is_stacked(const std::string& name);

}  // namespace nadi::inline files
