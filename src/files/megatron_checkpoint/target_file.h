// What a conversion writes, whatever the format: files whose size is known beforehand. A file is made of
// bytes that are ready (headers, settings) and of places that are filled with blocks of the whole model.
//
//   const TargetFile file{.name = "model.safetensors", .size = Bytes{header.size() + 6},
//                         .ready = {{.offset = 0, .bytes = header}},
//                         .places = {{.offset = 8, .dtype = FileDType::kBF16,
//                                     .blocks = {{.tensor = "lm_head.bias", .block = {.rows = 3, .columns =
//                                     1}}}}}};
//   fill_files(model, {&file, 1}, folder, {.threads = 4});    // checkpoint_conversion/file_filling.h
//
// Places and ready bytes do not overlap, and together they are the whole file; what neither covers is zero.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

struct ReadyBytes {
  std::int64_t offset = 0;  // in the file
  std::string bytes;
  std::string tensor = {};  // of a safetensors file: of which tensor these are all bytes
};

// Elements of the blocks, one block after another, each row by row. A block without a tensor's name is as
// many zeros.
struct FilledPlace {
  std::int64_t offset = 0;             // in the file, in bytes
  FileDType dtype = FileDType::kBF16;  // elements of another type are converted
  std::vector<ShardBlock> blocks = {};
  std::string tensor = {};  // of a safetensors file: which tensor the place is

  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const ShardBlock& block : blocks) sum += block.elements();
    return sum;
  }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
};

struct TargetFile {
  std::string name;  // within the target: "iter_0000001/mp_rank_00/model_optim_rng.pt"
  Bytes size;
  std::vector<ReadyBytes> ready = {};
  std::vector<FilledPlace> places = {};
  // Bytes that are known only when all places are filled, from the CRC-32 of each of them. Not set means there are
  // none, and no checksums are computed.
  std::function<std::vector<ReadyBytes>(std::span<const std::uint32_t>)> ending = {};
  // A safetensors file: the first ready bytes are its header, places and other ready bytes are tensors. Their
  // checksums are computed for the list beside the file (checkpoint/checksum_manifest.h).
  bool safetensors = false;
};

}  // namespace nadi::inline files
