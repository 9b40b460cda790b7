// In which order the places of a conversion's files are filled: that of the source.
//
//   const std::vector<FillTask> tasks = fill_schedule(model, files);
//
// A tensor of the source becomes parts of many files: with tensor parallelism of 8, every row of an output
// projection is cut into 8 files. Going through the tensors of the source, all files that have a part of one
// at a time, every byte of the source is read from the disk once and written once, however large both are;
// going through the files, the source would be read 8 times where memory does not hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline files {

// At most so many bytes of a target are made at once: large enough for a disk, small enough for the caches.
inline constexpr std::int64_t kFillBytes = std::int64_t{4} << 20;

struct FillTask {
  const WholeTensor* tensor = nullptr;  // nullptr means zeros
  ShardBlock block = {};                // without its tensor's name
  FileDType dtype = FileDType::kBF16;
  std::size_t file = 0;
  std::size_t place = 0;    // of the file
  std::int64_t offset = 0;  // in the file

  std::int64_t bytes() const { return block.elements() * size_of(dtype); }
};

// The model must outlive the tasks. Error (input) for a tensor that the model does not have, a block outside
// of it, elements that cannot be converted.
std::vector<FillTask> fill_schedule(const WholeModel& model, std::span<const TargetFile> files);

}  // namespace nadi::inline files
