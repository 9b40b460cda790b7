// For tests: a model whose elements are all different numbers, and its shards in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nadi/base/crc32.h"
#include "nadi/checkpoint/element_conversion.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/megatron_checkpoint/block_source.h"
#include "nadi/megatron_checkpoint/target_file.h"
#include "nadi/megatron_checkpoint/whole_names.h"

namespace nadi::inline files {

// A tensor of a shard out of a whole model: the plain version, block by block and element by element.
inline std::vector<std::byte> shard_bytes(const WholeModel& model, const ShardTensor& shard) {
  std::vector<std::byte> out;
  for (const ShardBlock& b : shard.blocks) {
    const WholeTensor& tensor = model.at(b.tensor);
    std::vector<std::byte> block(tensor.bytes_of(b.block));
    model.read(tensor, b.block, block);
    const std::int64_t size = size_of(tensor.dtype);
    for (std::int64_t copy = 0; copy < std::max<std::int64_t>(1, b.padding); ++copy)
      for (std::int64_t i = 0; i < (b.transposed ? b.block.columns : b.block.rows); ++i)
        for (std::int64_t j = 0; j < (b.transposed ? b.block.rows : b.block.columns); ++j) {
          const std::int64_t at = b.transposed ? j * b.block.columns + i : i * b.block.columns + j;
          out.insert(out.end(), block.begin() + at * size, block.begin() + (at + 1) * size);
        }
  }
  return out;
}

// The bytes of a file of a checkpoint: the plain version of what a conversion does with threads.
inline std::string file_bytes(const WholeModel& model, const TargetFile& file) {
  std::string bytes(static_cast<std::size_t>(file.size.count()), '\0');
  const auto put = [&](const std::vector<ReadyBytes>& pieces) {
    for (const ReadyBytes& piece : pieces) std::ranges::copy(piece.bytes, bytes.begin() + piece.offset);
  };
  put(file.ready);
  std::vector<std::uint32_t> checksums;
  for (const FilledPlace& place : file.places) {
    std::byte* out = reinterpret_cast<std::byte*>(bytes.data()) + place.offset;
    const std::span<const std::byte> all(out, static_cast<std::size_t>(place.bytes()));
    for (const ShardBlock& block : place.blocks) {
      const std::int64_t size = block.elements() * size_of(place.dtype);
      if (!block.tensor.empty()) {
        const DType dtype = place.dtype == FileDType::kF32 ? DType::kF32 : DType::kBF16;
        convert_elements(model.at(block.tensor).dtype,
                         shard_bytes(model, {.name = "", .blocks = {block}}).data(), dtype, out,
                         static_cast<std::size_t>(block.elements()));
      }
      out += size;
    }
    checksums.push_back(crc32(all));
  }
  if (file.ending) put(file.ending(checksums));
  return bytes;
}

class ModelInMemory {
 public:
  // Tensors of the vocabulary have rows up to a multiple of 16, as a model of Megatron's has.
  explicit ModelInMemory(const ModelConfig& config) : config_(config) {
    const WholeNames names = whole_names(config);
    const std::set<std::string> padded{names.words, names.output, names.output_bias};
    for (const WantedTensor& parameter : whole_parameters(config)) {
      const bool pads = padded.contains(parameter.name);
      const std::int64_t rows = pads ? (parameter.shape[0] + 15) / 16 * 16 : parameter.shape[0];
      const std::int64_t columns = parameter.shape.rank() > 1 ? parameter.shape[1] : 1;
      first_[parameter.name] = {count_, columns};
      count_ += rows * columns;
    }
  }

  const ModelConfig& config() const { return config_; }

  // Optimizer state differs from the parameter by a fraction.
  float element(const std::string& tensor, std::int64_t row, std::int64_t column) const {
    std::string parameter = tensor;
    float fraction = 0;
    for (const auto& [suffix, of_suffix] :
         {std::pair(kFirstMoment, 0.25F), std::pair(kSecondMoment, 0.5F), std::pair(kMasterWeights, 0.125F)})
      if (tensor.ends_with(suffix)) {
        parameter = tensor.substr(0, tensor.size() - suffix.size());
        fraction = of_suffix;
      }
    const auto& [first, columns] = first_.at(parameter);
    return static_cast<float>(first + row * columns + column) + fraction;
  }

  std::vector<float> elements(const std::string& tensor, const TensorBlock& block) const {
    std::vector<float> out;
    for (std::int64_t i = 0; i < block.rows; ++i)
      for (std::int64_t j = 0; j < block.columns; ++j)
        out.push_back(element(tensor, block.row + i, block.column + j));
    return out;
  }

  // The tensor of a shard, element for element.
  std::vector<float> elements(const ShardTensor& shard) const {
    std::vector<float> out;
    for (const ShardBlock& b : shard.blocks)
      for (std::int64_t copy = 0; copy < std::max<std::int64_t>(1, b.padding); ++copy)
        for (std::int64_t i = 0; i < (b.transposed ? b.block.columns : b.block.rows); ++i)
          for (std::int64_t j = 0; j < (b.transposed ? b.block.rows : b.block.columns); ++j)
            out.push_back(b.transposed ? element(b.tensor, b.block.row + j, b.block.column + i)
                                       : element(b.tensor, b.block.row + i, b.block.column + j));
    return out;
  }

  // These tensors in memory, which stays as long as this object.
  BlockSource::Contents mapped(const std::vector<ShardTensor>& tensors, const std::string& file = "chunks") {
    BlockSource::Contents contents{.config = config_, .shards = {}, .kind = "in memory", .file = file};
    for (const ShardTensor& tensor : tensors) {
      memory_.push_back(elements(tensor));
      contents.shards.push_back({.tensor = tensor,
                                 .dtype = FileDType::kF32,
                                 .data = reinterpret_cast<const std::byte*>(memory_.back().data()),
                                 .file = file});
    }
    return contents;
  }

  // The same and Adam's moments, of a training that has made 7 updates.
  BlockSource::Contents training(const MegatronSplit& split) {
    BlockSource::Contents contents = shards(split);
    const std::vector<MappedShard> parameters = contents.shards;
    for (const MappedShard& shard : parameters)
      for (const std::string_view suffix : {kFirstMoment, kSecondMoment}) {
        BlockSource::Contents state = mapped({with_suffix(shard.tensor, suffix)}, shard.file);
        contents.shards.push_back(std::move(state.shards.front()));
      }
    contents.progress =
        TrainingProgress{.iteration = 9,
                         .samples = 72,
                         .adam = AdamNumbers{.updates = 7, .rate = 0.001, .beta2 = 0.95, .weight_decay = 0.1},
                         .schedule = ScheduleNumbers{.max_rate = 0.01,
                                                     .min_rate = 0.0001,
                                                     .decay = "cosine",
                                                     .warmup_samples = 8,
                                                     .decay_samples = 800,
                                                     .samples_done = 72,
                                                     .start_weight_decay = 0.1,
                                                     .end_weight_decay = 0.1,
                                                     .weight_decay_samples = 800},
                         .settings = {{"seed", 3}, {"seq_length", 16}, {"global_batch_size", 8}}};
    return contents;
  }

  // All ranks of a split, with padded rows of their own.
  BlockSource::Contents shards(MegatronSplit split) {
    split.whole_vocabulary = split.padded_vocabulary;
    const ShardLayout layout(config_, split);
    BlockSource::Contents all{.config = config_, .shards = {}, .kind = "in memory", .file = "folder"};
    for (std::int64_t pp = 0; pp < split.pp; ++pp)
      for (std::int64_t tp = 0; tp < split.tp; ++tp)
        for (const ShardChunk& chunk : layout.rank({.tp = tp, .pp = pp})) {
          BlockSource::Contents one = mapped(chunk.tensors, shard_folder(split, {.tp = tp, .pp = pp}));
          std::ranges::move(one.shards, std::back_inserter(all.shards));
        }
    return all;
  }

 private:
  struct PlaceInModel {
    std::int64_t first = 0;
    std::int64_t columns = 1;
  };
  ModelConfig config_;
  std::map<std::string, PlaceInModel> first_;
  std::int64_t count_ = 0;
  std::deque<std::vector<float>> memory_;
};

}  // namespace nadi::inline files
