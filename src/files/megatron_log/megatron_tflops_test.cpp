#include "nadi/megatron_log/megatron_tflops.h"

#include <gtest/gtest.h>

namespace nadi::inline files {
namespace {

// 12 x 2 x 4 x 1 x 2^2 = 384, times 1 + 2/2 + 4/4 + 8/2 + 8/4 = 9, is 3456 operations; with SwiGLU and one
// group for two heads 1 + 1/2 + 1 + 6 + 2 = 10.5: 4032.
TEST(MegatronTflops, CountsAsMegatronDoes) {
  ModelConfig config{.name = "tiny",
                     .architecture = architecture_named("gpt2"),
                     .vocabulary = 8,
                     .layers = 1,
                     .width = 2,
                     .heads = 2,
                     .kv_heads = 2,
                     .ffn_width = 8};
  EXPECT_DOUBLE_EQ(megatron_tflops(config, 2, 4, 1e-12), 3456);
  config.architecture = architecture_named("llama");
  config.kv_heads = 1;
  EXPECT_DOUBLE_EQ(megatron_tflops(config, 2, 4, 2e-12), 2016);
}

}  // namespace
}  // namespace nadi::inline files
