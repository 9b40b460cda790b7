// Copies one block of a whole model into memory as a target wants it: transposed, repeated, converted.
//
//   BlockCopy copy(model);                             // one for each thread: it has memory of its own
//   for (const ShardBlock& part : parts_of(block, 1 << 20)) out = copy.bytes(part, FileDType::kBF16);
//
// Where the source has the elements as they are wanted, one after another in a mapped file, nothing is
// copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

// A block cut into parts of at most `limit` elements (at least 1), in the order of the target: their elements
// one after another are those of the block.
std::vector<ShardBlock> parts_of(const ShardBlock& block, std::int64_t limit);

// Whether elements of these types can be converted, or are the same.
bool can_convert(FileDType from, FileDType to);

class BlockCopy {
 public:
  // The model must outlive it.
  explicit BlockCopy(const WholeModel& model) : model_(model) {}

  // The elements of `block`, which is one of `tensor`, as the target has them. Valid until the next call.
  std::span<const std::byte> bytes(const WholeTensor& tensor, const ShardBlock& block, FileDType dtype);
  std::span<const std::byte> zeros(std::size_t count);

 private:
  std::span<const std::byte> read(const WholeTensor& tensor, const TensorBlock& block);

  const WholeModel& model_;
  std::vector<std::byte> read_;       // a rectangle as the source has it
  std::vector<std::byte> arranged_;   // transposed or repeated
  std::vector<std::byte> converted_;  // in the wanted type
};

// out[column][row] = in[row][column], of elements of 1, 2, 4 or 8 bytes. Tiles of 64 x 64 elements, so that
// both sides stay in the first cache.
void transpose(std::span<const std::byte> in, std::int64_t rows, std::int64_t columns,
               std::int64_t element_size, std::span<std::byte> out);
// The plain version: the oracle of the one above.
void transpose_reference(std::span<const std::byte> in, std::int64_t rows, std::int64_t columns,
                         std::int64_t element_size, std::span<std::byte> out);

}  // namespace nadi::inline files
