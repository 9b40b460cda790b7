#include "nadi/cpu/host_mover.h"

#include <algorithm>
#include <cstring>

#include "nadi/cpu/strided_copy.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cpu {

void HostMover::copy(const Operand& from, std::byte* to) {
  if (is_contiguous(from.shape(), from.strides)) {
    std::memcpy(to, from.data, static_cast<std::size_t>(from.bytes()));
    return;
  }
  strided_copy({.source = from.data,
                .target = to,
                .shape = from.shape(),
                .strides = from.strides,
                .element_size = size_of(from.dtype())},
               threads_);
}

void HostMover::swap(const BlockSwap& blocks) {
  std::byte* to = blocks.to;
  for (std::int64_t column = 0; column < blocks.columns; ++column)
    for (std::int64_t row = 0; row < blocks.rows; ++row, to += blocks.run)
      std::memcpy(to, blocks.from + (row * blocks.columns + column) * blocks.run,
                  static_cast<std::size_t>(blocks.run));
}

void HostMover::clear(std::span<std::byte> bytes) {
  std::ranges::fill(bytes, std::byte{0});
}

}  // namespace nadi::inline engines::cpu
