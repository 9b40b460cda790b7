#include "nadi/checkpoint_conversion/fill_schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint_conversion/block_copy.h"

namespace nadi::inline files {
namespace {

void check_block(const WholeTensor& tensor, const ShardBlock& block, FileDType dtype) {
  const TensorBlock& part = block.block;
  check(part.row >= 0 && part.column >= 0, "a block starts outside of its tensor");
  if (part.row + part.rows > std::max(tensor.stored_rows, tensor.rows()) ||
      part.column + part.columns > tensor.columns())
    throw input_error(
        {.file = tensor.place},
        format("tensor '{}' has {} rows of {} elements; rows {} to {} of {} elements are needed", tensor.name,
               tensor.stored_rows, tensor.columns(), part.row, part.row + part.rows - 1,
               part.column + part.columns));
  if (!can_convert(tensor.dtype, dtype))
    throw input_error({.file = tensor.place},
                      format("tensor '{}': elements of type {} cannot be converted to {}", tensor.name,
                             to_string(tensor.dtype), to_string(dtype)));
}

}  // namespace

std::vector<FillTask> fill_schedule(const WholeModel& model, std::span<const TargetFile> files) {
  std::vector<FillTask> tasks;
  for (std::size_t file = 0; file < files.size(); ++file)
    for (std::size_t place = 0; place < files[file].places.size(); ++place) {
      const FilledPlace& filled = files[file].places[place];
      std::int64_t offset = filled.offset;
      for (const ShardBlock& block : filled.blocks) {
        const WholeTensor* tensor = block.tensor.empty() ? nullptr : &model.at(block.tensor);
        if (tensor != nullptr) check_block(*tensor, block, filled.dtype);
        ShardBlock nameless = block;
        nameless.tensor.clear();
        // Both sides are held in memory: the wider type counts.
        const std::int64_t widest =
            std::max(size_of(filled.dtype), tensor == nullptr ? std::int64_t{1} : size_of(tensor->dtype));
        for (ShardBlock& part : parts_of(nameless, kFillBytes / widest)) {
          const std::int64_t bytes = part.elements() * size_of(filled.dtype);
          tasks.push_back({.tensor = tensor,
                           .block = std::move(part),
                           .dtype = filled.dtype,
                           .file = file,
                           .place = place,
                           .offset = offset});
          offset += bytes;
        }
      }
    }
  // Tensors of a model lie in one array, in the order of the model.
  const auto key = [](const FillTask& task) {
    return std::tuple(task.tensor, task.block.block.row, task.block.block.column, task.file, task.offset);
  };
  std::ranges::sort(tasks, [&](const FillTask& a, const FillTask& b) { return key(a) < key(b); });
  return tasks;
}

}  // namespace nadi::inline files
