#include "nadi/draw/layer_name.h"

#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

TEST(LayerName, OfCheckpoints) {
  EXPECT_EQ(layer_number("transformer.h.3.attn.c_proj"), 3);
  EXPECT_EQ(layer_box("transformer.h.3.attn.c_proj"), "transformer.h.3");
  EXPECT_EQ(block_box("transformer.h.3.mlp.c_fc"), "transformer.h.3.mlp");
  EXPECT_EQ(within_layer("transformer.h.3.attn.c_proj"), "attn.c_proj");
  EXPECT_EQ(layer_number("lm_head"), std::nullopt);
}

TEST(LayerName, OfModulesOfAProfile) {
  constexpr std::string_view kBert =
      "BertLMHeadModel_0.BertModel_0.BertEncoder_0.BertLayer_11.BertAttention_11.LayerNorm_24";
  EXPECT_EQ(layer_number(kBert), 11);
  EXPECT_EQ(layer_box(kBert), "BertLMHeadModel_0.BertModel_0.BertEncoder_0.BertLayer_11");
  EXPECT_EQ(block_box(kBert), "BertLMHeadModel_0.BertModel_0.BertEncoder_0.BertLayer_11.BertAttention_11");
  EXPECT_EQ(within_layer(kBert), "BertAttention_11.LayerNorm_24");
  EXPECT_TRUE(is_module_path(kBert));
  EXPECT_FALSE(is_module_path("transformer.h.3.attn.c_proj"));
  EXPECT_FALSE(is_module_path("_3.attn"));
  // Of nested ones the outer is the layer.
  EXPECT_EQ(layer_number("GptOss_0.TransformerBlock_7.MLPBlock_2.Linear_0"), 7);
  EXPECT_EQ(layer_number("ResNet_0.Sequential_1.Bottleneck_5.Conv2d_9"), 5);
  EXPECT_EQ(layer_number("Qwen2ForCausalLM_0.LayerNorm_3"), std::nullopt);
  EXPECT_EQ(layer_number("Net_0.TransformerBlock"), std::nullopt);
}

}  // namespace
}  // namespace nadi::inline show
