#include "nadi/trace/arena.h"

#include <algorithm>

namespace nadi::inline traces {

namespace {

constexpr std::size_t kFirstBlock = 1024;
// Blocks double up to this size, so that a table of many gigabytes does not hold twice what it needs.
constexpr std::size_t kLargestStep = std::size_t{1} << 20;

}  // namespace

std::size_t Arena::capacity() const {
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  return total;
}

void* Arena::take_from_next_block(std::size_t size) {
  // operator new[] aligns each block for every fundamental type, so its start fits any alignment.
  const std::size_t next = blocks_.empty() ? 0 : current_ + 1;
  if (next == blocks_.size() || blocks_[next].size < size) {
    const std::size_t step = blocks_.empty() ? kFirstBlock : std::min(2 * blocks_.back().size, kLargestStep);
    Block block;
    block.size = std::max(size, step);
    block.bytes.reset(new std::byte[block.size]);
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(next), std::move(block));
  }
  current_ = next;
  used_ = size;
  return blocks_[current_].bytes.get();
}

}  // namespace nadi::inline traces
