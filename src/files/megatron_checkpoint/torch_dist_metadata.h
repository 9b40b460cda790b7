// What the `.metadata` of a torch_dist folder says: tensors with their chunks, objects, and where in which
// file each of them lies. PyTorch writes it (torch.distributed.checkpoint); Megatron-LM adds `mcore_data`.
//
//   const TorchDistMetadata metadata = read_torch_dist_metadata("iter_0000001");
//   for (const TorchDistTensor& tensor : metadata.tensors) print(tensor.name, tensor.shape.to_string());
//
//
// Read are names and numbers; nothing is called. Each name, shape and place is checked by itself here: chunks
// inside their tensors, files inside the folder. Whether chunks are all of a tensor, and what lies in the
// files, is torch_dist_folder.h's.
//
// A tensor that a distributed optimizer has flattened (chunked_tensor.h) is listed with the shape that it has
// in the model, and its chunks as ranges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/graph/file_dtype.h"
#include "nadi/megatron_checkpoint/chunked_tensor.h"

namespace nadi::inline files {

// A whole torch.save archive within a file.
struct TorchDistPlace {
  std::string file;  // in the folder: "__0_1.distcp"
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

struct TorchDistChunk {
  TensorBox box = {};  // as the archive has it: of a flattened tensor [1, ..., 1, count]
  TorchDistPlace place = {};
};

struct TorchDistTensor {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};      // in the model
  Shape flattened = {};  // as it is stored: [X / x, Y / y, x * y]; rank 0 where it is not flattened
  std::vector<TorchDistChunk> chunks = {};

  bool is_flattened() const { return flattened.rank() > 0; }
};

// Bytes that Megatron pickles: extra states, random states, the state of reruns.
struct TorchDistObject {
  std::string name;
  TorchDistPlace place = {};
};

struct TorchDistMetadata {
  std::vector<TorchDistTensor> tensors = {};  // in the order of the file
  std::vector<TorchDistObject> objects = {};
};

inline constexpr const char* kTorchDistMetadataFile = ".metadata";

// Error (input) naming the file, and the tensor with its numbers: a chunk beyond its tensor or without a
// place; a path that leads out of the folder; a shape that overflows; a type that no tensor has.
TorchDistMetadata read_torch_dist_metadata(const std::filesystem::path& folder);

// The same as PyTorch reads it.
std::string torch_dist_metadata_pickle(const TorchDistMetadata& metadata);

}  // namespace nadi::inline files
