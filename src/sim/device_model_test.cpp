#include "nadi/sim/device_model.h"

#include <gtest/gtest.h>

namespace nadi {
namespace {

TEST(DeviceModel, ALargeProductIsBoundByItsArithmetic) {
  DeviceSpec device{.name = "d", .product = ""};
  device.matrix_peak[static_cast<std::size_t>(DType::kBF16)] = FlopRate{1e12};
  device.memory_bandwidth = ByteRate{1e12};
  device.launch_overhead = Nanoseconds{2000};
  OpWork work{.kind = OpKind::kMatmul, .dtype = DType::kBF16};
  work.matrix = Flops{1'000'000'000};
  work.read = Bytes{1'000'000};
  EXPECT_GE(DeviceModel(device).time_of(work).time, Nanoseconds{1'000'000});
  work.matrix = Flops{1};
  work.read = Bytes{1};
  EXPECT_GE(DeviceModel(device).time_of(work).time, Nanoseconds{2000});
}

}  // namespace
}  // namespace nadi
