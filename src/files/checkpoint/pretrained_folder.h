// A model's folder as Hugging Face has it: config.json with model.safetensors or pytorch_model.bin, or with
// shards and an index of one of these (weight_file.h). Where both formats are there, safetensors is read.
//
//   const PretrainedFolder folder("gpt2/");
//   const PretrainedMatch match = folder.match(wanted);     // names and shapes of the graph's parameters
//   for (std::size_t i = 0; i < wanted.size(); ++i) match.tensors[i]->read(DType::kF32,
//   memory_of(wanted[i])); print(match.unused);
//
// Parameters of graphs have the names that transformers gives them today. Files on the hub differ, and are
// accepted as well:
//   - saved from the model without its head: 'h.0.ln_1.weight' for 'transformer.h.0.ln_1.weight'; the same
//     without 'bert.' and without 'model.'
//   - BERT's first files: 'LayerNorm.gamma' and 'LayerNorm.beta' for 'LayerNorm.weight' and 'LayerNorm.bias'
//   - 'cls.predictions.decoder.bias' for 'cls.predictions.bias'
//   - where config.json says that the output layer is tied, the word embeddings for 'lm_head.weight' or
//     'cls.predictions.decoder.weight'
// Whatever a model does not ask for (buffers with masks, poolers, tied copies) is left and listed.
//
// Errors (input) name the file: no weights; a tensor that is missing, with the nearest there is; another
// shape or vocabulary; a damaged file; an index that does not fit its shards.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/weight_file.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/shape.h"
#include "nadi/model/model_config.h"

namespace nadi::inline files {

struct WantedTensor {
  std::string name;  // as the graph has it
  Shape shape = {};
};

// Tensors of the folder's files.
struct PretrainedMatch {
  std::vector<const WeightTensor*> tensors = {};         // one for each wanted, in their order
  std::vector<const WeightTensor*> unused_tensors = {};  // the rest, by name
  std::vector<std::string> unused =
      {};  // their names, as the files have them, and those of what is no tensor, sorted
};

class PretrainedFolder {
 public:
  // Opens all files. `model_type` says what a config.json without that key is. With kYes, data is checked
  // when it is read, and small files now: against the folder's list of checksums (checksum_manifest.h) and
  // those within archives.
  explicit PretrainedFolder(const std::filesystem::path& folder, std::string_view model_type = "",
                            Verify verify = Verify::kYes);

  const ModelConfig& config() const { return config_; }
  WeightFormat weight_format() const { return format_; }
  std::span<const WeightFile> files() const { return files_; }

  // At the end of reading: checks the rest of what has one checksum for all of it and was read in part.
  void check_rest() const { memory_->check_rest(); }
  // What a user should know: archives that were saved without checksums.
  std::vector<std::string> notes() const;
  // For further files of the folder. nullptr: nothing is checked, or there is no list.
  CheckedMemory& memory() const { return *memory_; }
  const ChecksumManifest* manifest() const { return manifest_ ? &*manifest_ : nullptr; }

  // Finds all of them before anything is read.
  PretrainedMatch match(std::span<const WantedTensor> wanted) const;

 private:
  WeightChecks checks() const;
  void open_shards(const std::filesystem::path& index);
  std::vector<std::string> names_of(const std::string& parameter) const;
  const WeightTensor& find(const std::string& parameter) const;
  void check_shape(const WantedTensor& wanted, const WeightTensor& found) const;

  std::filesystem::path folder_;
  Verify verify_;
  std::unique_ptr<CheckedMemory> memory_;  // tensors know its address
  std::optional<ChecksumManifest> manifest_;
  ModelConfig config_;
  WeightFormat format_ = WeightFormat::kSafetensors;
  std::vector<WeightFile> files_;
  std::map<std::string, const WeightTensor*, std::less<>> tensors_;
};

// Whether the folder has a file of weights or an index of some, of any format.
bool has_weights(const std::filesystem::path& folder);

}  // namespace nadi::inline files
