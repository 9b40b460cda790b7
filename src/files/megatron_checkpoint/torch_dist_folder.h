// A folder of Megatron-LM's format `torch_dist`, open for reading: every tensor as one whole, whatever its
// chunks.
//
//   const TorchDistFolder folder("checkpoints/llama/iter_0000001");
//   const TorchDistEntry& entry = folder.at("decoder.layers.mlp.linear_fc1.weight");
//   entry.data.read(0, entry.data.shape().elements(), out);
//   const PickleValue args = folder.common().at("args");
//
// Names are Megatron's, layers are stacked in front. Optimizer state is "optimizer.state.exp_avg.<name>",
// "exp_avg_sq" and "fp32_param", flattened or not.
//
// Files are mapped, and data is read when it is wanted, by any number of threads. Opening reads every
// archive's header. Error (input) with the file, the tensor and the numbers: a file that is missing or too
// short, an archive that is damaged or holds something else than the metadata says, chunks that overlap or
// leave elements out.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/megatron_checkpoint/torch_dist_metadata.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {

struct TorchDistEntry {
  std::string name;
  FileDType dtype = FileDType::kF32;
  ChunkedTensor data;
  std::string place;  // "__0_0.distcp", or "__0_0.distcp and 3 others"
  bool flattened = false;
};

// Whether a folder has metadata.json that names torch_dist. Error (input) where it names another form.
bool is_torch_dist_folder(const std::filesystem::path& folder);

class TorchDistFolder {
 public:
  // With kYes, data is checked against the checksums of its archive when it is read through memory().
  explicit TorchDistFolder(const std::filesystem::path& folder, Verify verify = Verify::kYes);
  ~TorchDistFolder();

  const std::filesystem::path& path() const { return path_; }
  // The dictionary of common.pt: args, iteration, optimizer without its tensors.
  PickleValue common() const { return common_->root(); }

  const std::vector<TorchDistEntry>& entries() const { return entries_; }  // in the order of .metadata
  const TorchDistEntry* find(std::string_view name) const;                 // nullptr means none of that name
  const TorchDistEntry& at(std::string_view name) const;  // Error (input) with the nearest name
  const std::vector<TorchDistObject>& objects() const { return objects_; }
  // nullptr means nothing is checked.
  const std::shared_ptr<CheckedMemory>& memory() const { return memory_; }
  std::vector<std::string> notes() const;  // files that were saved without checksums

 private:
  class Mappings;
  void open_chunk(const TorchDistTensor& tensor, const TorchDistChunk& chunk, ChunkedTensor& into);

  std::filesystem::path path_;
  std::unique_ptr<TorchFile> common_;
  std::unique_ptr<Mappings> mappings_;
  std::shared_ptr<CheckedMemory> memory_;  // shared with the model that is made of the tensors
  std::set<std::string> without_checksums_;
  std::vector<std::vector<std::byte>> unpacked_;  // tensors that are not contiguous in their archive
  std::vector<TorchDistEntry> entries_;
  std::map<std::string_view, const TorchDistEntry*> by_name_;
  std::vector<TorchDistObject> objects_;
};

}  // namespace nadi::inline files
