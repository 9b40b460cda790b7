// A model's folder as Hugging Face has it: config.json with model.safetensors, or with shards and
// model.safetensors.index.json.
//
//   const PretrainedFolder folder("gpt2/");
//   const PretrainedMatch match = folder.match(wanted);     // names and shapes of the graph's parameters
//   for (std::size_t i = 0; i < wanted.size(); ++i) match.tensors[i].read(DType::kF32, memory_of(wanted[i]));
//   print(match.unused);
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
// Errors (input) name the file: no weights, or only ones in PyTorch's own format; a tensor that is missing,
// with the nearest there is; another shape or vocabulary; a damaged file; an index that does not fit its
// shards.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/shape.h"
#include "nadi/model/model_config.h"

namespace nadi {

struct WantedTensor {
  std::string name;  // as the graph has it
  Shape shape = {};
};

// A tensor in one of the folder's files, both of which must outlive it.
struct PretrainedTensor {
  const SafetensorsReader* file = nullptr;
  const SafetensorsTensor* tensor = nullptr;

  void read(DType wanted, std::span<std::byte> out) const { file->read(*tensor, wanted, out); }

  FileDType dtype() const { return tensor->dtype; }
  const Shape& shape() const { return tensor->shape; }
  const std::string& file_name() const { return file->file(); }
  // All elements row by row, where the file is mapped. Valid as long as the folder is open.
  std::span<const std::byte> mapped() const { return file->mapped(*tensor); }
};

struct PretrainedMatch {
  std::vector<PretrainedTensor> tensors = {};  // one for each wanted, in their order
  std::vector<std::string> unused = {};        // names of the rest, as the files have them, sorted
};

class PretrainedFolder {
 public:
  // Opens all files. `model_type` says what a config.json without that key is.
  explicit PretrainedFolder(const std::filesystem::path& folder, std::string_view model_type = "");

  const ModelConfig& config() const { return config_; }

  // Finds all of them before anything is read.
  PretrainedMatch match(std::span<const WantedTensor> wanted) const;

  // By the name that the files have for it, which is one of them.
  const PretrainedTensor& stored(const std::string& name) const { return tensors_.at(name); }

 private:
  void open_shards(const std::filesystem::path& index);
  std::vector<std::string> names_of(const std::string& parameter) const;
  PretrainedTensor find(const std::string& parameter) const;
  void check_shape(const WantedTensor& wanted, const PretrainedTensor& found) const;

  std::filesystem::path folder_;
  ModelConfig config_;
  std::vector<SafetensorsReader> files_;
  std::map<std::string, PretrainedTensor, std::less<>> tensors_;
};

}  // namespace nadi
