#include "nadi/sim/device_model.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline predict {
namespace {

// 10 units that compute 1 TFLOP/s together.
DeviceSpec plain_device() {
  DeviceSpec device{.name = "d", .product = ""};
  device.matrix_peak[static_cast<std::size_t>(DType::kBF16)] = FlopRate{1e12};
  device.memory_bandwidth = ByteRate{1e12};
  device.units = 10;
  device.curve = {.matrix_efficiency = 0.5,
                  .depth_ramp = 20,
                  .split_depth = 500,
                  .attention_efficiency = 0.4,
                  .attention_gradient_efficiency = 0.2,
                  .bandwidth_efficiency = 0.8,
                  .score_efficiency = 0.5,
                  .kernel_gap_us = 3,
                  .forward_issue_us = 7,
                  .backward_issue_us = 8,
                  .collective_issue_us = 9,
                  .step_us = 30};
  return device;
}

// Rounded up from a sum of fractions: one more is as good.
double nanoseconds(const OpTime& time) {
  return static_cast<double>(time.time.count());
}

OpWork product(std::int64_t m, std::int64_t n, std::int64_t k) {
  OpWork work{.kind = OpKind::kMatmul, .dtype = DType::kBF16};
  work.product = {.batches = 1, .m = m, .n = n, .k = k};
  work.matrix = Flops{2 * m * n * k};
  return work;
}

TEST(DeviceModel, ProductsAreComputedInWavesOfWholeTiles) {
  const DeviceModel model(plain_device());
  // 10 tiles fill the units once: 2 * 256 * 128 * (80 + 20) FLOPs each at 50 GFLOP/s, and the gap.
  constexpr double kWave = 131'072;
  EXPECT_NEAR(nanoseconds(model.time_of(product(2560, 128, 80))), kWave + 3000, 1);
  // Tiles lie either way round.
  EXPECT_NEAR(nanoseconds(model.time_of(product(128, 2560, 80))), kWave + 3000, 1);
  // One row more is an eleventh tile, and a second wave.
  EXPECT_NEAR(nanoseconds(model.time_of(product(2561, 128, 80))), 2 * kWave + 3000, 1);
  // A narrow one takes as long as its tiles.
  EXPECT_NEAR(nanoseconds(model.time_of(product(2560, 1, 80))), kWave + 3000, 1);
}

TEST(DeviceModel, DeepProductsAreSplitToFillTheDevice) {
  const DeviceModel model(plain_device());
  // 2 tiles, so that 5 parts would fill the units; but parts are no less deep than 500: 3 of 500.
  EXPECT_NEAR(nanoseconds(model.time_of(product(512, 128, 1500))), 5.2 * 131'072 + 3000, 1);
  EXPECT_NEAR(nanoseconds(model.time_of(product(512, 128, 480))), 5 * 131'072 + 3000, 1);
}

TEST(DeviceModel, AThinProductIsBoundByMemory) {
  OpWork work = product(128, 128, 80);
  work.read = Bytes{160'000'000};
  EXPECT_NEAR(nanoseconds(DeviceModel(plain_device()).time_of(work)), 203'000, 1);
}

TEST(DeviceModel, AttentionHasEfficienciesOfItsOwn) {
  const DeviceModel model(plain_device());
  OpWork work = product(64, 64, 64);
  work.kind = OpKind::kAttention;
  work.matrix = Flops{4'000'000};
  EXPECT_NEAR(nanoseconds(model.time_of(work)), 13'000, 1);
  work.kind = OpKind::kAttentionGrad;
  EXPECT_NEAR(nanoseconds(model.time_of(work)), 23'000, 1);
}

TEST(DeviceModel, OtherOpsAreBoundByMemoryAndTheScoresOfAttentionMore) {
  const DeviceModel model(plain_device());
  OpWork work{.kind = OpKind::kSoftmax, .dtype = DType::kBF16};
  work.read = work.written = Bytes{4'000'000};
  EXPECT_NEAR(nanoseconds(model.time_of(work)), 13'000, 1);
  work.core_attention = true;
  EXPECT_NEAR(nanoseconds(model.time_of(work)), 23'000, 1);
}

TEST(DeviceModel, NoKernelTakesLessThanALaunch) {
  DeviceSpec device = plain_device();
  device.launch_overhead = Nanoseconds{5000};
  EXPECT_NEAR(nanoseconds(DeviceModel(device).time_of({.kind = OpKind::kAdd})), 5000, 1);
}

TEST(DeviceModel, WhatTheHostDoesOncePerStepIsPutOnTheCountOfUpdates) {
  EXPECT_NEAR(nanoseconds(DeviceModel(plain_device()).time_of({.kind = OpKind::kNextUpdate})), 30'000, 1);
}

TEST(DeviceModel, HostsLaunchOpsOneByOneButUpdatesTogether) {
  const DeviceModel model(plain_device());
  EXPECT_EQ(model.time_of({.phase = Phase::kForward}).issue, Nanoseconds{7000});
  EXPECT_EQ(model.time_of({.phase = Phase::kRecompute}).issue, Nanoseconds{7000});
  EXPECT_EQ(model.time_of({.phase = Phase::kBackward}).issue, Nanoseconds{8000});
  EXPECT_EQ(model.time_of({.phase = Phase::kOptimizer}).issue, Nanoseconds{});
  EXPECT_EQ(model.communication_issue(), Nanoseconds{9000});
}

TEST(DeviceModel, ATypeThatTheDeviceLacksIsRefused) {
  OpWork work = product(64, 64, 64);
  work.dtype = DType::kF16;
  EXPECT_THROW(DeviceModel(plain_device()).time_of(work), Error);
}

TEST(DeviceCurve, HasAtMostTwelveConstantsAndDefaultsWithinTheirBounds) {
  EXPECT_LE(curve_constants().size(), 12u);
  const DeviceCurve curve;
  for (const CurveConstant& constant : curve_constants()) {
    EXPECT_LE(constant.least, curve.*constant.value) << constant.name;
    EXPECT_GE(constant.most, curve.*constant.value) << constant.name;
  }
}

}  // namespace
}  // namespace nadi::inline predict
