#include "nadi/convert/kernel_work.h"

#include <gtest/gtest.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

// An op that launches two kernels, one that launches none of its own, a copy, and a kernel of which nothing
// is known.
Profile profile_with_shapes() {
  Profile profile;
  const std::string_view product =
      R"("Input Dims": [[2000, 3000], [3000, 4000]], "Input type": ["float", "float"])";
  profile.op("aten::matmul", {.start = 0, .length = 100}, product);
  profile.op("aten::mm", {.start = 10, .length = 80}, product);
  profile.call("cudaLaunchKernel", {.start = 20, .length = 10}, 1);
  profile.call("cudaLaunchKernel", {.start = 40, .length = 10}, 2);
  profile.kernel("gemm", {.start = 200, .length = 30}, 1);
  profile.kernel("reduce", {.start = 230, .length = 10}, 2);
  profile.op("opaque", {.start = 110, .length = 20});
  profile.call("cuLaunchKernel", {.start = 115, .length = 5}, 3);
  profile.kernel("triton", {.start = 240, .length = 5}, 3);
  profile.op("aten::copy_", {.start = 140, .length = 20}, R"("Input Dims": [[8]], "Input type": ["float"])");
  profile.call("cudaMemcpyAsync", {.start = 145, .length = 5}, 4);
  profile.event("gpu_memcpy", "Memcpy DtoD", 0, 7, {.start = 250, .length = 5},
                R"("device": 0, "stream": 7, "correlation": 4, "bytes": 4096)");
  return profile;
}

TEST(KernelWork, KernelsShareTheWorkOfTheirOp) {
  const Converted converted = convert(profile_with_shapes(), {.num_ops = true});
  // 2 * 2000 * 3000 * 4000 = 48e9, of which a kernel that lasted 30 of 40 us does three quarters.
  EXPECT_EQ(converted.number("gemm", "num_ops"), 36'000'000'000);
  EXPECT_EQ(converted.number("reduce", "num_ops"), 12'000'000'000);
  // 4 bytes of 6e6 + 12e6 elements, and of an output like the larger one.
  EXPECT_EQ(converted.number("gemm", "tensor_size"), 90'000'000);
  EXPECT_EQ(converted.number("reduce", "tensor_size"), 30'000'000);
  EXPECT_EQ(converted.number("Memcpy DtoD", "num_ops"), 1);
  EXPECT_EQ(converted.number("Memcpy DtoD", "tensor_size"), 4096);
}

TEST(KernelWork, WhatIsNotKnownIsCounted) {
  const Converted converted = convert(profile_with_shapes(), {.simulate_only = true, .num_ops = true});
  EXPECT_EQ(converted.number("triton", "num_ops"), 1);
  EXPECT_EQ(converted.number("triton", "tensor_size"), 1);
  EXPECT_EQ(converted.report().with_work, 3u);
  EXPECT_EQ(converted.report().without_work, 1u);
}

TEST(KernelWork, OnlyWhereItIsAskedFor) {
  const Converted converted = convert(profile_with_shapes(), {.simulate_only = true});
  EXPECT_EQ(converted.number("gemm", "num_ops"), std::nullopt);
  EXPECT_EQ(converted.report().with_work, 0u);
}

}  // namespace
}  // namespace nadi::inline traces
