// A whole model out of tensors of shards that lie in mapped files, whatever files those are.
//
//   std::vector<MappedShard> shards;      // all tensors of all ranks, each with its blocks (shard_layout.h)
//   const BlockSource model({.config = config, .shards = std::move(shards), .kind = "...", .file = folder,
//                            .keep = {file}});
//
// Checked when it is made, Error (input) naming tensor and file: every element of every tensor is there, all
// parts have one type, parameters have the shapes that the configuration says, and copies (norms on all
// ranks, tied embeddings) agree. Copies of more than kComparedBytes are compared in their first and last
// bytes only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

// The elements of the tensor's blocks follow each other from `data` on. Blocks of optimizer state have the
// names of whole_model.h: "<parameter>.m".
struct MappedShard {
  ShardTensor tensor;
  FileDType dtype = FileDType::kF32;
  const std::byte* data = nullptr;
  std::string file;
};

// The part of a tensor that has rows [row, row + rows) and columns [column, column + columns) of it, where
// its last axis are the columns and all others together the rows (a vector has one column): of which blocks
// that is. `shape` is that of the part.
ShardTensor cut_tensor(const ShardTensor& tensor, const TensorBlock& part, const Shape& shape);

// The same blocks of optimizer state: "<parameter>" + suffix.
ShardTensor with_suffix(ShardTensor tensor, std::string_view suffix);

class TorchFile;

class BlockSource : public WholeModel {
 public:
  static constexpr std::int64_t kComparedBytes = 65536;

  struct Contents {
    ModelConfig config;
    std::vector<MappedShard> shards;
    std::optional<TrainingProgress> progress = {};
    std::optional<MegatronSplit> split = {};  // of the files, complete; nothing where there is none
    bool distributed_optimizer = false;       // whether its optimizer was one
    std::string kind;
    std::string file;                                    // for messages
    std::vector<std::shared_ptr<const void>> keep = {};  // what maps the data, and
    std::vector<std::shared_ptr<const TorchFile>> archives = {};
    std::shared_ptr<const CheckedMemory> memory = {};  // watches the data; nullptr means nothing is checked
    std::vector<std::string> notes = {};
  };
  explicit BlockSource(Contents contents);

  const ModelConfig& config() const override { return contents_.config; }
  std::span<const WholeTensor> tensors() const override { return tensors_; }
  std::vector<MappedPiece> pieces(const WholeTensor& tensor, const TensorBlock& block) const override;
  const std::optional<TrainingProgress>& progress() const override { return contents_.progress; }
  std::string kind() const override { return contents_.kind; }
  std::string file() const override { return contents_.file; }
  std::vector<std::string> notes() const override { return contents_.notes; }
  const CheckedMemory* memory() const override { return contents_.memory.get(); }
  void check_rest() const override;
  const std::optional<MegatronSplit>& split() const { return contents_.split; }
  bool distributed_optimizer() const { return contents_.distributed_optimizer; }

 private:
  void add(WholeIndexEntry entry);
  void check_copies(const WholeIndexEntry& entry, const WholeTensor& tensor) const;
  void put_in_order();

  Contents contents_;
  std::vector<WholeTensor> tensors_;
  std::vector<WholeIndexEntry> index_;  // of each tensor
};

}  // namespace nadi::inline files
