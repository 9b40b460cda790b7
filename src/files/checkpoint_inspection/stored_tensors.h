// What a path holds that has weights in it, for looking at and for comparing: a checkpoint of any format as
// one whole model, or single files of tensors.
//
//   const std::unique_ptr<StoredTensors> stored = open_stored_tensors("checkpoints/llama");
//   print(stored->kind());                                     // "Megatron-LM checkpoint (torch), tp 2, pp
//   2" for (const WholeTensor& tensor : stored->tensors()) print(tensor.name, tensor.shape.to_string());
//
// Tensors of a checkpoint have Hugging Face's names, whatever the format; those of single files the names
// that the file has.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/memory_limit.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

class StoredTensors {
 public:
  virtual ~StoredTensors() = default;

  virtual std::string kind() const = 0;  // in words: "safetensors file"
  // nullptr where the files do not say which model it is, or it is none that Nadi builds.
  virtual const ModelConfig* config() const { return nullptr; }
  // nullptr for weights alone.
  virtual const TrainingProgress* progress() const { return nullptr; }
  // How the files are split; nullptr where one file has whole tensors.
  virtual const MegatronSplit* split() const { return nullptr; }
  // What a reader should know besides: "newest of 3 checkpoints".
  virtual std::vector<std::string> notes() const { return {}; }

  virtual std::span<const WholeTensor> tensors() const = 0;
  // Elements of a block, row by row, in the tensor's own type; `out` has exactly their size.
  virtual void read(const WholeTensor& tensor, const TensorBlock& block, std::span<std::byte> out) const = 0;
  // The same without a copy, where the elements follow each other in a mapped file.
  virtual std::optional<std::span<const std::byte>> view(const WholeTensor& tensor,
                                                         const TensorBlock& block) const = 0;

  // read() and view() check what they give against its checksums, where there are some. At the end of reading
  // this checks the rest of what has one checksum for all of it and was read in part.
  virtual void check_rest() const = 0;
  // What was found to have its checksum so far.
  virtual Bytes checked() const = 0;
};

struct TensorReading {
  Verify verify = Verify::kYes;
  MemoryLimit memory =
      {};  // for files of torch.save that are no model's; those of a model have the usual limit
};

// Error (input) naming the path: nothing is there, no weights are in it, or a file is damaged.
std::unique_ptr<StoredTensors> open_stored_tensors(const std::filesystem::path& path,
                                                   const TensorReading& reading = {});

// Reads every tensor and checks it against its checksum. Error (input) with the tensor's name for the first
// that differs. Returns how many bytes were checked; tensors without a checksum pass.
Bytes verify_tensors(const StoredTensors& stored,
                     const std::function<void(Bytes done, Bytes total)>& progress = {});

// Whether a tensor is the state of a training beside its weights: "<parameter>.m", ".v" or ".master", or
// whatever else a checkpoint of ours keeps with them.
bool is_training_state(const WholeTensor& tensor);

}  // namespace nadi::inline files
