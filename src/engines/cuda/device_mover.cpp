#include "nadi/cuda/device_mover.h"

#include <array>

#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/strided_copy.h"

namespace nadi::inline engines::cuda {

void DeviceMover::copy(const Operand& from, std::byte* to) {
  const int rank = from.shape().rank();
  std::array<std::int64_t, Shape::kMaxRank> packed{};
  std::int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    packed[static_cast<std::size_t>(axis)] = stride;
    stride *= from.shape()[axis];
  }
  strided_copy(compute_, {.from = from.data,
                          .from_dtype = from.dtype(),
                          .from_strides = from.strides,
                          .to = to,
                          .to_dtype = from.dtype(),
                          .to_strides = std::span(packed).first(static_cast<std::size_t>(rank)),
                          .shape = from.shape()});
}

// Moves bytes, whatever the elements are: any type of one byte will do.
void DeviceMover::swap(const BlockSwap& blocks) {
  const std::array<std::int64_t, 3> from{blocks.run, blocks.columns * blocks.run, 1};
  const std::array<std::int64_t, 3> to{blocks.rows * blocks.run, blocks.run, 1};
  strided_copy(compute_, {.from = blocks.from,
                          .from_dtype = DType::kF8E4M3,
                          .from_strides = from,
                          .to = blocks.to,
                          .to_dtype = DType::kF8E4M3,
                          .to_strides = to,
                          .shape = Shape{blocks.columns, blocks.rows, blocks.run}});
}

void DeviceMover::clear(std::span<std::byte> bytes) {
  check_cuda(cudaMemsetAsync(bytes.data(), 0, bytes.size(), compute_), "cudaMemsetAsync");
}

}  // namespace nadi::inline engines::cuda
