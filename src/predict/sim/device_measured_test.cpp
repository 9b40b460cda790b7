#include "nadi/sim/device_measured.h"

#include <gtest/gtest.h>

namespace nadi::inline predict {
namespace {

MeasuredOp measured_product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t nanoseconds) {
  return {.kind = OpKind::kMatmul,
          .dtype = DType::kF32,
          .batches = 1,
          .m = m,
          .n = n,
          .k = k,
          .matrix = Flops{2 * m * n * k},
          .read = Bytes{4 * (m * k + k * n)},
          .written = Bytes{4 * m * n},
          .time = Nanoseconds{nanoseconds}};
}

MeasuredOp measured_sum(std::int64_t elements, std::int64_t nanoseconds) {
  return {.kind = OpKind::kAdd,
          .dtype = DType::kF32,
          .vector = Flops{elements},
          .read = Bytes{8 * elements},
          .written = Bytes{4 * elements},
          .time = Nanoseconds{nanoseconds}};
}

// A model that says one nanosecond per 1000 FLOPs of a product.
Nanoseconds simple_model(const OpWork& work) {
  return Nanoseconds{work.matrix.count() / 1000};
}

OpTime time_of(const MeasuredOps& table, const MeasuredOp& op) {
  return *MeasuredTimes(table).time_of(work_of(op), simple_model);
}

TEST(MeasuredTimes, AnOpOfTheTableTakesItsTime) {
  const MeasuredOps table{.between_kernels = Nanoseconds{7},
                          .ops = {measured_product(64, 64, 64, 1000), measured_product(256, 64, 64, 4000),
                                  measured_sum(1000, 500)}};
  EXPECT_EQ(time_of(table, measured_product(256, 64, 64, 0)).time, Nanoseconds{4000});
  EXPECT_EQ(time_of(table, measured_product(256, 64, 64, 0)).source, TimeSource::kMeasured);
  EXPECT_EQ(time_of(table, measured_sum(1000, 0)).time, Nanoseconds{500});
  EXPECT_FALSE(MeasuredTimes(table).time_of({.kind = OpKind::kFill}, simple_model).has_value());
}

// 64 rows take 1600 and 256 take 4000, which is 800 and 12.5 for each: 128 rows take 2400.
TEST(MeasuredTimes, InterpolatesAlongTheOneDimensionThatDiffers) {
  const MeasuredOps table{.ops = {measured_product(64, 64, 64, 1600), measured_product(256, 64, 64, 4000),
                                  measured_product(128, 32, 32, 9)}};
  const OpTime time = time_of(table, measured_product(128, 64, 64, 0));
  EXPECT_NEAR(static_cast<double>(time.time.count()), 2400, 2);
  EXPECT_EQ(time.source, TimeSource::kInterpolated);
  // Twice beyond the last: twice its time.
  EXPECT_NEAR(static_cast<double>(time_of(table, measured_product(512, 64, 64, 0)).time.count()), 8000, 2);
}

// All of the table run at 2 FLOP/ns, so this does, too: 2 * 100 * 100 * 100 / 2 ns.
TEST(MeasuredTimes, OtherShapesTakeTheRateOfTheNearest) {
  const MeasuredOps table{
      .ops = {measured_product(64, 64, 64, 262144), measured_product(128, 128, 128, 2097152)}};
  const OpTime time = time_of(table, measured_product(100, 100, 100, 0));
  EXPECT_NEAR(static_cast<double>(time.time.count()), 1e6, 1e3);
  EXPECT_EQ(time.source, TimeSource::kInterpolated);
}

TEST(MeasuredTimes, ElementWiseOpsGoByTheirBytes) {
  const MeasuredOps table{.ops = {measured_sum(1000, 100), measured_sum(4000, 400)}};
  EXPECT_NEAR(static_cast<double>(time_of(table, measured_sum(2000, 0)).time.count()), 200, 1);
}

// The model says 2^12 times as long as of the nearest op: 2 * 64^3 FLOPs took 1000 ns.
TEST(MeasuredTimes, FarOutsideTheModelIsScaledToTheNearest) {
  const MeasuredOps table{.ops = {measured_product(64, 64, 64, 1000)}};
  const OpTime time = time_of(table, measured_product(1024, 1024, 1024, 0));
  EXPECT_EQ(time.source, TimeSource::kModel);
  EXPECT_NEAR(static_cast<double>(time.time.count()), 4096e3, 5e3);
}

TEST(MeasuredTimes, FusedOpsTakeNoTime) {
  const MeasuredOps table{.between_kernels = Nanoseconds{7},
                          .ops = {measured_sum(1000, 0), measured_sum(4000, 0)}};
  EXPECT_EQ(time_of(table, measured_sum(1000, 0)).time, Nanoseconds{0});
  EXPECT_EQ(time_of(table, measured_sum(2000, 0)).time, Nanoseconds{0});
}

}  // namespace
}  // namespace nadi::inline predict
