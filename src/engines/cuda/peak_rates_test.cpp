#include "nadi/cuda/peak_rates.h"

#include <gtest/gtest.h>

namespace nadi::inline engines::cuda {
namespace {

TEST(PeakRates, GoByTypeAndMath) {
  EXPECT_EQ(peak_tflops("NVIDIA H200", DType::kBF16), 989.4);
  EXPECT_EQ(peak_tflops("NVIDIA H200", DType::kF16), 989.4);
  EXPECT_EQ(peak_tflops("NVIDIA H200", DType::kF32), 66.9);
  EXPECT_EQ(peak_tflops("NVIDIA H200", DType::kF32, {.tf32 = true}), 494.7);
  EXPECT_EQ(peak_tflops("NVIDIA H200", DType::kI32), std::nullopt);
}

TEST(PeakRates, TakeWholeWordsOfNames) {
  EXPECT_EQ(peak_tflops("NVIDIA A100-SXM4-80GB", DType::kBF16), 312);
  EXPECT_EQ(peak_tflops("NVIDIA A10", DType::kBF16), 125);
  EXPECT_EQ(peak_tflops("NVIDIA H100 PCIe", DType::kBF16), 756);
  EXPECT_EQ(peak_tflops("NVIDIA H100 80GB HBM3", DType::kBF16), 989.4);
  EXPECT_EQ(peak_tflops("NVIDIA L40S", DType::kBF16), 362);
}

TEST(PeakRates, AreUnknownForOthers) {
  EXPECT_EQ(peak_tflops("NVIDIA A10G", DType::kBF16), std::nullopt);
  EXPECT_EQ(peak_tflops("Some GPU", DType::kBF16), std::nullopt);
  EXPECT_EQ(peak_tflops("", DType::kBF16), std::nullopt);
}

}  // namespace
}  // namespace nadi::inline engines::cuda
