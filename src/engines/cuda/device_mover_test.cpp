// What communication packs on the GPU, and its way through pinned memory, against the host's.

#include "nadi/cuda/device_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "nadi/comm/single_process.h"
#include "nadi/comm/through_host.h"
#include "nadi/cpu/host_mover.h"
#include "nadi/cuda/device_values_for_tests.h"
#include "nadi/cuda/pinned_copies.h"

namespace nadi::inline engines::cuda {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

Bytes8 numbered(std::size_t size) {
  Bytes8 bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return bytes;
}

struct SwapCase {
  std::int64_t rows, columns, run;
  std::size_t offset;  // of both addresses: elements begin anywhere
};

TEST(DeviceMover, swaps_blocks_as_the_host_does) {
  StreamForTests stream;
  DeviceMover mover;
  mover.compute_on(stream.get());
  for (const SwapCase& at : {SwapCase{3, 2, 2, 0}, SwapCase{5, 4, 6, 2}, SwapCase{64, 2, 1536, 0},
                             SwapCase{1000, 8, 96, 4}, SwapCase{1, 4, 30, 2}, SwapCase{7, 1, 128, 0}}) {
    const std::size_t size = static_cast<std::size_t>(at.rows * at.columns * at.run);
    Bytes8 from = numbered(size + at.offset), expected(size + at.offset);
    cpu::HostMover(1).swap({.from = reinterpret_cast<const std::byte*>(from.data() + at.offset),
                            .to = reinterpret_cast<std::byte*>(expected.data() + at.offset),
                            .rows = at.rows,
                            .columns = at.columns,
                            .run = at.run});
    OnDevice<std::uint8_t> source(from), target(Bytes8(size + at.offset));
    mover.swap({.from = source.data() + at.offset,
                .to = target.data() + at.offset,
                .rows = at.rows,
                .columns = at.columns,
                .run = at.run});
    EXPECT_EQ(target.read(), expected) << at.rows << " x " << at.columns << " x " << at.run;
  }
}

// A transposed matrix of 5 x 3 elements, of every size.
TEST(DeviceMover, makes_strided_operands_contiguous) {
  StreamForTests stream;
  DeviceMover mover;
  mover.compute_on(stream.get());
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64}) {
    const std::size_t size = static_cast<std::size_t>(15 * size_of(dtype));
    const std::vector<std::int64_t> strides{1, 5};
    Tensor tensor;
    tensor.shape = Shape{5, 3};
    tensor.dtype = dtype;
    Bytes8 from = numbered(size), expected(size);
    Operand operand{.data = reinterpret_cast<std::byte*>(from.data()), .tensor = &tensor, .strides = strides};
    cpu::HostMover(1).copy(operand, reinterpret_cast<std::byte*>(expected.data()));
    OnDevice<std::uint8_t> source(from), target{Bytes8(size)};
    operand.data = source.data();
    mover.copy(operand, target.data());
    EXPECT_EQ(target.read(), expected) << to_string(dtype);
  }
}

TEST(DeviceMover, clears) {
  StreamForTests stream;
  DeviceMover mover;
  mover.compute_on(stream.get());
  OnDevice<std::uint8_t> bytes(numbered(100));
  mover.clear(bytes.bytes().subspan(1, 98));
  const Bytes8 left = bytes.read();
  EXPECT_EQ(left[0], numbered(1)[0]);
  EXPECT_EQ(std::accumulate(left.begin() + 1, left.end() - 1, 0), 0);
  EXPECT_EQ(left[99], numbered(100)[99]);
}

// From part to whole and back, many times, so that buffers are used again while copies are under way.
TEST(PinnedCopies, carry_messages_through_the_host) {
  StreamForTests stream;
  PinnedCopies copies;
  copies.compute_on(stream.get());
  SingleProcess host;
  ThroughHost world(host, device_memory(0), copies);
  const CommLine line(kWorld, kComputeStream, device_memory(0));
  constexpr std::size_t kElements = 300'000;
  OnDevice<float> part{std::vector<float>(kElements)}, whole{std::vector<float>(kElements)};
  std::vector<float> values(kElements);
  for (int round = 0; round < 10; ++round) {
    std::iota(values.begin(), values.end(), static_cast<float>(round));
    part.write(values);
    for (int again = 0; again < 2; ++again) {
      const CommRequest gathered = world.all_gather(line, part.bytes(), whole.bytes());
      world.stream_wait(kComputeStream, gathered);
      world.wait(gathered);
      const CommRequest sum = world.all_reduce(line, {whole.bytes(), DType::kF32}, ReduceOp::kSum);
      world.stream_wait(kComputeStream, sum);
      world.wait(sum);
    }
    EXPECT_EQ(whole.read(), values) << "round " << round;
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
