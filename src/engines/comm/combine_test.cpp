#include "nadi/comm/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "nadi/base/half.h"

namespace nadi::inline engines {
namespace {

template <class Element>
std::vector<Element> combined(const std::vector<std::vector<Element>>& arrays, const CombineAs& as) {
  std::vector<const std::byte*> addresses;
  for (const std::vector<Element>& array : arrays)
    addresses.push_back(reinterpret_cast<const std::byte*>(array.data()));
  std::vector<Element> target(arrays[0].size());
  combine(addresses, static_cast<std::int64_t>(target.size()), as,
          reinterpret_cast<std::byte*>(target.data()));
  return target;
}

using Floats = std::vector<float>;
using Integers = std::vector<std::int32_t>;

TEST(Combine, numbers) {
  const std::vector<Floats> arrays{{1, -2, 8}, {4, 5, 8}, {0.5F, 6, -1}};
  EXPECT_EQ(combined(arrays, {DType::kF32, ReduceOp::kSum}), (Floats{5.5F, 9, 15}));
  EXPECT_EQ(combined(arrays, {DType::kF32, ReduceOp::kAverage}), (Floats{5.5F / 3, 3, 5}));
  EXPECT_EQ(combined(arrays, {DType::kF32, ReduceOp::kMinimum}), (Floats{0.5F, -2, -1}));
  EXPECT_EQ(combined(arrays, {DType::kF32, ReduceOp::kMaximum}), (Floats{4, 6, 8}));
  EXPECT_EQ(combined(arrays, {DType::kF32, ReduceOp::kProduct}), (Floats{2, -60, -64}));
}

TEST(Combine, integers) {
  const std::vector<Integers> arrays{{1, -2}, {3, 7}};
  EXPECT_EQ(combined(arrays, {DType::kI32, ReduceOp::kSum}), (Integers{4, 5}));
  EXPECT_EQ(combined(arrays, {DType::kI32, ReduceOp::kProduct}), (Integers{3, -14}));
  const std::vector<std::vector<std::int64_t>> large{{1'000'000'000'000}, {5}};
  EXPECT_EQ(combined(large, {DType::kI64, ReduceOp::kSum}), (std::vector<std::int64_t>{1'000'000'000'005}));
  EXPECT_EQ(combined(large, {DType::kI64, ReduceOp::kMinimum}), (std::vector<std::int64_t>{5}));
}

// 256 + 1 in bf16 is 256 again, since its numbers there are two apart; 256 + 1 + 1 rounded once is 258.
TEST(Combine, halves_are_rounded_once) {
  const std::vector<std::vector<std::uint16_t>> bf16{{to_bf16(256)}, {to_bf16(1)}, {to_bf16(1)}};
  EXPECT_EQ(from_bf16(combined(bf16, {DType::kBF16, ReduceOp::kSum})[0]), 258);
  // The same with 2048 in fp16.
  const std::vector<std::vector<std::uint16_t>> f16{{to_f16(2048)}, {to_f16(1)}, {to_f16(1)}};
  EXPECT_EQ(from_f16(combined(f16, {DType::kF16, ReduceOp::kSum})[0]), 2050);
  // And what is too large before it is divided is not when it is.
  const std::vector<std::vector<std::uint16_t>> large{{to_f16(60'000)}, {to_f16(36'000)}};
  EXPECT_EQ(from_f16(combined(large, {DType::kF16, ReduceOp::kAverage})[0]), 48'000);
  EXPECT_TRUE(std::isinf(from_f16(combined(large, {DType::kF16, ReduceOp::kSum})[0])));
}

TEST(Combine, what_is_not_finite_stays_so) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<Floats> arrays{{1, infinity, std::nanf("")}, {2, 1, 1}};
  const Floats sums = combined(arrays, {DType::kF32, ReduceOp::kSum});
  EXPECT_EQ(sums[0], 3);
  EXPECT_EQ(sums[1], infinity);
  EXPECT_TRUE(std::isnan(sums[2]));
}

// More than a block, into one of the arrays, for every place that it can have.
TEST(Combine, into_an_operand) {
  constexpr std::int64_t kCount = 5'000;
  for (std::size_t own = 0; own < 3; ++own) {
    std::vector<Floats> arrays(3, Floats(kCount));
    std::vector<const std::byte*> addresses;
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::int64_t i = 0; i < kCount; ++i) arrays[a][i] = static_cast<float>((a + 1) * i);
      addresses.push_back(reinterpret_cast<const std::byte*>(arrays[a].data()));
    }
    combine(addresses, kCount, {DType::kF32, ReduceOp::kSum},
            reinterpret_cast<std::byte*>(arrays[own].data()));
    for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(arrays[own][i], static_cast<float>(6 * i));
  }
}

TEST(Combine, what_makes_no_sense) {
  EXPECT_FALSE(can_combine({DType::kI32, ReduceOp::kAverage}));
  EXPECT_FALSE(can_combine({DType::kF8E4M3, ReduceOp::kSum}));
  EXPECT_TRUE(can_combine({DType::kF16, ReduceOp::kAverage}));
}

}  // namespace
}  // namespace nadi::inline engines
