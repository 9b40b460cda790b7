// For tests: a torch_dist folder of a model whose elements are numbers (shards_for_tests.h), on the disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/crc32.h"
#include "nadi/megatron_checkpoint/shards_for_tests.h"
#include "nadi/megatron_checkpoint/torch_dist_files.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline files {

// The bytes of a planned file, place by place. Numbers of moments are those of their parameters, and 1 and 2
// more.
inline std::string bytes_of_target(const ModelInMemory& memory, const TargetFile& file) {
  std::string bytes(static_cast<std::size_t>(file.size.count()), '\0');
  const auto put = [&](std::int64_t offset, std::string_view piece) {
    bytes.replace(static_cast<std::size_t>(offset), piece.size(), piece);
  };
  for (const ReadyBytes& ready : file.ready) put(ready.offset, ready.bytes);
  std::vector<std::uint32_t> checksums;
  for (const FilledPlace& place : file.places) {
    std::vector<float> elements;
    for (ShardBlock block : place.blocks) {
      float more = 0;
      for (const auto& [suffix, added] : {std::pair{kFirstMoment, 1.0F}, {kSecondMoment, 2.0F}})
        if (block.tensor.ends_with(suffix)) {
          block.tensor.resize(block.tensor.size() - suffix.size());
          more = added;
        }
      for (const float element : memory.elements(ShardTensor{.name = "", .shape = {}, .blocks = {block}}))
        elements.push_back(element + more);
    }
    const auto raw = std::as_bytes(std::span(elements));
    put(place.offset, {reinterpret_cast<const char*>(raw.data()), raw.size()});
    checksums.push_back(crc32(raw));
  }
  if (file.ending)
    for (const ReadyBytes& ready : file.ending(checksums)) put(ready.offset, ready.bytes);
  return bytes;
}

// With Adam's moments where `target` has an optimizer.
inline void write_torch_dist_for_tests(const std::filesystem::path& folder, const ModelConfig& config,
                                       MegatronTarget target = {}, TorchDistCut cut = {.files = 3}) {
  ModelInMemory memory(config);
  BlockSource::Contents contents = memory.shards({.padded_vocabulary = 16});
  if (target.optimizer) {
    const std::vector<MappedShard> parameters = contents.shards;
    for (const std::string_view suffix : {kFirstMoment, kSecondMoment})
      for (MappedShard state : parameters) {
        state.tensor = with_suffix(state.tensor, suffix);
        contents.shards.push_back(std::move(state));
      }
    contents.progress = TrainingProgress{.iteration = 7, .samples = 28, .adam = AdamNumbers{.updates = 7}};
  }
  const BlockSource model(std::move(contents));
  const ShardLayout layout(config, {.padded_vocabulary = 16, .whole_vocabulary = 16});
  target.dtype = FileDType::kF32;
  target.format = "torch_dist";
  for (const TargetFile& file : torch_dist_files(model, layout, target, cut))
    write_text(folder / file.name, bytes_of_target(memory, file));
}

}  // namespace nadi::inline files
