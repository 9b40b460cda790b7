#include "nadi/calibrate/machine_description.h"

#include <gtest/gtest.h>

namespace nadi::inline runs {
namespace {

MeasuredOp product(std::int64_t flops, std::int64_t bytes, Nanoseconds time) {
  return {.kind = OpKind::kMatmul, .matrix = Flops{flops}, .read = Bytes{bytes}, .time = time};
}

DeviceSpec described(const std::vector<MeasuredOp>& kernels) {
  return describe_device({}, 1, 1, {.ops = kernels}, kernels);
}

TEST(MachineDescription, ShortKernelsDoNotCountBesideLongOnes) {
  // 4e6 in 40 us are 1e11 a second; the 2e6 in 10 us would be twice that.
  const DeviceSpec device = described(
      {product(4'000'000, 80'000, Nanoseconds{40'000}), product(2'000'000, 60'000, Nanoseconds{10'000})});
  EXPECT_DOUBLE_EQ(device.peak(DType::kF32).per_second(), 1e11);
  EXPECT_DOUBLE_EQ(device.memory_bandwidth.per_second(), 2e9);
}

TEST(MachineDescription, ATinyModelHasThePeakOfItsLongestKernel) {
  // Nothing takes 20 us: 1e6 in 10 us are 1e11 a second. That of 1 us counts no more than before.
  const DeviceSpec device =
      described({product(1'000'000, 1'000, Nanoseconds{10'000}), product(900'000, 900, Nanoseconds{1'000})});
  EXPECT_DOUBLE_EQ(device.peak(DType::kF32).per_second(), 1e11);
  EXPECT_DOUBLE_EQ(device.memory_bandwidth.per_second(), 1e8);
}

}  // namespace
}  // namespace nadi::inline runs
