// Where every element of every parameter lies in a model that Megatron-LM has split: pure arithmetic, no
// files.
//
//   const ShardLayout layout(config, {.tp = 8, .pp = 2, .naming = MegatronNaming::kLocal});
//   for (std::int64_t pp = 0; pp < 2; ++pp)
//     for (std::int64_t tp = 0; tp < 8; ++tp)
//       for (const ShardChunk& chunk : layout.rank({.tp = tp, .pp = pp}))    // of mp_rank_{tp}_{pp}
//         for (const ShardTensor& tensor : chunk.tensors)                    // in Megatron's order
//           for (const ShardBlock& block : tensor.blocks) append(tensor, block);
//
// The middle of all conversions is the whole model under Hugging Face's names (checkpoint/whole_model.h). A
// tensor of a shard is its blocks one after another: each is a rectangle of a whole tensor, transposed where
// Hugging Face stores [in, out] (GPT-2), repeated where rows are added to the vocabulary. Element for
// element, row by row, that is the tensor.
//
// How Megatron splits and packs (what was checked against its files is said in docs/checkpoints.md):
//   - linear_qkv: for each group of queries its queries, its key, its value; groups are divided over tp
//   ranks.
//     Biases alike.
//   - linear_fc1 of a SwiGLU: on each rank [its part of gate; its part of up]
//   - norms of queries and keys per head: q_layernorm and k_layernorm, on every rank
//   - linear_proj, linear_fc2: by columns; their biases and all norms are on every rank
//   - word embeddings and output layer: by rows of the padded vocabulary; added rows are copies of the last
//   - layers count from 0 within each chunk. Chunk c of stage s has the layers of entry c * pp + s of the
//     partition, as plans have it (parallel/plan.h).
//   - a tied output layer is the embedding itself with one stage; with several the last stage has a copy
//   - BERT: Megatron's norms stand before each half of a block, Hugging Face's after it. The tensors are the
//     same ones: the norm of the embeddings is layer 0's input norm, the norm after a block the next one's
//     input norm, the last one final_layernorm. Megatron computes that with
//     --apply-residual-connection-post-layernorm.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/graph/shape.h"
#include "nadi/model/model_config.h"

namespace nadi::inline files {

enum class MegatronNaming : std::uint8_t { kLocal, kTransformerEngine };
std::string_view to_string(MegatronNaming naming);  // "local", "transformer_engine"

// A stage's place in the grid, and that of a file: mp_rank_{tp}_{pp}.
struct ShardPlace {
  std::int64_t tp = 0;
  std::int64_t pp = 0;
  bool operator==(const ShardPlace&) const = default;
};

struct MegatronSplit {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t virtual_stages = 1;
  std::vector<std::int64_t> partition = {};  // as Plan has it; empty means as even as possible
  MegatronNaming naming = MegatronNaming::kTransformerEngine;
  std::int64_t padded_vocabulary = 0;  // 0 means padded_vocabulary(config.vocabulary, tp)
  // Rows of the vocabulary that the whole model has: copies are added only after them. 0 means config.vocabulary.
  std::int64_t whole_vocabulary = 0;
  // BERT: whether the whole model has a pooler and a next-sentence head, which ours does not train.
  bool bert_binary_head = false;
};

// Megatron's default: rounded up to a multiple of 128 * tp.
std::int64_t padded_vocabulary(std::int64_t vocabulary, std::int64_t tp, std::int64_t divisible_by = 128);

// A rectangle of a whole tensor as that is stored.
struct ShardBlock {
  std::string tensor = {};  // of the whole model
  TensorBlock block = {};   // in the whole tensor
  bool transposed = false;  // the shard has the rectangle's columns as its rows
  // Rows added to a vocabulary: so many copies of the rectangle's only row. No part of the whole.
  std::int64_t padding = 0;

  std::int64_t elements() const { return block.elements() * (padding > 0 ? padding : 1); }
  bool operator==(const ShardBlock&) const = default;
};

struct ShardTensor {
  std::string name;
  Shape shape = {};
  std::vector<ShardBlock> blocks = {};
};

// A "model" of a file.
struct ShardChunk {
  std::string key;  // "model"; with virtual stages "model0", "model1", ...
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  std::vector<ShardTensor> tensors = {};
};

// Where a rectangle of a whole tensor lies: in a tensor of a shard, one element after another from `first`
// on.
struct WholePiece {
  std::size_t shard = 0;  // of the list that the index was made from
  std::int64_t first = 0;
  TensorBlock block = {};  // in the whole tensor
  bool transposed = false;
};

// The inverse: for each whole tensor the pieces that are it. Every element of it is in exactly one of
// `pieces`; `replicas` are further copies (norms on every rank, tied embeddings). Made from a list of tensors
// of shards, in any order; earlier ones become pieces, later ones that have the same rectangle replicas.
struct WholeIndexEntry {
  std::string name;
  std::vector<WholePiece> pieces = {};
  std::vector<WholePiece> replicas = {};
};
std::vector<WholeIndexEntry> whole_index(const std::vector<const ShardTensor*>& shards);

class ShardLayout {
 public:
  // Error (usage) with the numbers when the model cannot be split so: heads, groups, feed-forward width or
  // padded vocabulary that do not divide over tp; virtual stages without a pipeline; layers that do not.
  ShardLayout(const ModelConfig& config, const MegatronSplit& split);

  const MegatronSplit& split() const { return split_; }  // all of it filled in
  const ModelConfig& config() const { return config_; }

  // All tensors of a file, by chunk.
  std::vector<ShardChunk> rank(const ShardPlace& place) const;

  // The form of torch_dist folders: whole tensors under the names of Transformer Engine, layers stacked in
  // front, fc1 as [gate; up]. Independent of tp and pp but for the padded vocabulary and the copy of tied
  // embeddings, which is not there.
  std::vector<ShardTensor> global() const;

 private:
  bool has(const std::string& parameter) const { return parameters_.contains(parameter); }
  void check_split() const;
  class Stage;

  ModelConfig config_;
  MegatronSplit split_;
  std::set<std::string> parameters_;  // of the whole model
};

// "mp_rank_03", with pipeline stages "mp_rank_03_001".
std::string shard_folder(const MegatronSplit& split, const ShardPlace& place);

}  // namespace nadi::inline files
