#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

const char* const kGpt2 = "show gpt2 --batch-size 4 --seq-length 512 --dtype fp32";

Json phase(const Json& shown, std::string_view name) {
  for (const Json& entry : shown["phases"])
    if (entry["phase"] == name) return entry;
  return nullptr;
}

std::int64_t sum_of(const Json& list, const char* key) {
  std::int64_t sum = 0;
  for (const Json& entry : list) sum += entry[key].get<std::int64_t>();
  return sum;
}

TEST(ShowModel, CountsLinearLayers) {
  const Json shown = run_json(kGpt2);
  // 4 * 512 tokens, 12 blocks, and per token and block 2 FLOPs for each weight: 768 * 2304 of qkv, 768 * 768
  // of the projection, 2 * 768 * 3072 of the feed-forward layer.
  const std::int64_t blocks = 4 * 512 * 12 * 2LL * (768 * 2304 + 768 * 768 + 2 * 768 * 3072);
  const std::int64_t head = 4 * 512 * 2LL * 768 * 50257;
  EXPECT_EQ(blocks, 347892350976);
  EXPECT_EQ(phase(shown, "forward")["linear_without_head_flops"], blocks);
  EXPECT_EQ(phase(shown, "forward")["linear_flops"], blocks + head);
  // Backward has one product for the input and one for the weight.
  EXPECT_EQ(phase(shown, "backward")["linear_flops"], 2 * (blocks + head));
  EXPECT_EQ(shown["total"]["linear_flops"], 3 * (blocks + head));
  EXPECT_EQ(shown["total"]["linear_without_head_flops"], 3 * blocks);
  EXPECT_EQ(shown["parameters"], 124439808);
  EXPECT_TRUE(shown["total"]["flops"].is_number_integer());
}

TEST(ShowModel, PartsAddUpToTheTotal) {
  for (const char* arguments :
       {kGpt2, "show gpt2 --step generate --num-input-tokens 5 --num-output-tokens 3",
        "show bert-base-uncased --global-batch-size 4 --micro-batch-size 2 --recompute full",
        "show llama3.1-8b --attention unfused --recompute selective --dtype bf16 --seq-length 16"}) {
    const Json shown = run_json(arguments);
    for (const char* key : {"ops", "linear_flops", "linear_without_head_flops", "attention_flops",
                            "other_flops", "flops", "read_bytes", "written_bytes"}) {
      EXPECT_EQ(sum_of(shown["phases"], key), shown["total"][key]) << arguments << " " << key;
      EXPECT_EQ(sum_of(shown["layers"], key), shown["total"][key]) << arguments << " " << key;
      EXPECT_EQ(sum_of(shown["op_kinds"], key), shown["total"][key]) << arguments << " " << key;
      for (const Json& layer : shown["layers"]) EXPECT_EQ(sum_of(layer["phases"], key), layer[key]);
    }
    EXPECT_EQ(sum_of(shown["layers"], "parameters"), shown["parameters"]);
    const Json& total = shown["total"];
    EXPECT_EQ(total["linear_flops"].get<std::int64_t>() + total["attention_flops"].get<std::int64_t>() +
                  total["other_flops"].get<std::int64_t>(),
              total["flops"]);
    std::int64_t memory = 0;
    for (const auto& [key, value] : shown["memory"].items())
      if (key.ends_with("_bytes") && key != "total_bytes" && key != "peak_live_bytes" &&
          !key.starts_with("kept_"))  // part of the activations
        memory += value.get<std::int64_t>();
    EXPECT_EQ(memory, shown["memory"]["total_bytes"]);
  }
}

TEST(ShowModel, ListsAllLayersInJson) {
  const Json shown = run_json(kGpt2);
  int blocks = 0;
  for (const Json& layer : shown["layers"])
    if (!layer["block"].is_null()) {
      EXPECT_EQ(layer["name"], "transformer.h." + std::to_string(blocks));
      EXPECT_EQ(layer["block"], blocks++);
    }
  EXPECT_EQ(blocks, 12);
}

TEST(ShowModel, MemoryIsThatOfTheParts) {
  const Json memory = run_json(kGpt2)["memory"];
  EXPECT_EQ(memory["parameters_bytes"], 4LL * 124439808);
  EXPECT_EQ(memory["gradients_bytes"], 4LL * 124439808);
  EXPECT_EQ(memory["optimizer_state_bytes"], 8LL * 124439808);  // two moments
  EXPECT_EQ(memory["caches_bytes"], 0);
  // In bf16: 2 bytes of parameters, and fp32 gradients, moments and masters.
  const Json half = run_json("show gpt2 --dtype bf16 --seq-length 8")["memory"];
  EXPECT_EQ(half["parameters_bytes"], 2LL * 124439808);
  EXPECT_EQ(half["optimizer_state_bytes"], 12LL * 124439808);
  // Keys and values of 12 layers, 768 wide, 10 + 5 tokens, fp32: nothing follows the sixth.
  const Json cached =
      run_json("show gpt2 --step generate --num-input-tokens 10 --num-output-tokens 6 --dtype fp32");
  EXPECT_EQ(cached["memory"]["caches_bytes"], 2 * 12 * 768 * 15 * 4);
}

TEST(ShowModel, PrintsTheSameFiguresForPeople) {
  const CliRun done = run(kGpt2);
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("\nparameters  124,439,808\n"));
  EXPECT_THAT(done.out, testing::ContainsRegex("\nforward +[0-9]+ +506 GFLOP "));  // 347.9 + 158.1
  EXPECT_THAT(done.out, HasSubstr("\ntransformer.h.0-11  12 x    7,087,872"));
  EXPECT_THAT(done.out, testing::ContainsRegex("\noptimizer state +949 MiB\n"));
  EXPECT_THAT(done.out, HasSubstr("\nactivations are at their peak in lm_head."));
}

TEST(ShowModel, FitsTheTerminal) {
  for (const char* arguments :
       {kGpt2, "show llama3.1-405b --dtype bf16 --recompute full --global-batch-size 8 --micro-batch-size 2",
        "show bert-large-uncased --recompute full", "show gpt3-175b --step generate"}) {
    const std::string out = run(arguments).out;
    for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
      EXPECT_LE(out.find('\n', at) - at, 100u) << out.substr(at, out.find('\n', at) - at);
  }
}

TEST(ShowModel, PerLayerHasARowForEach) {
  const std::string out = run(std::string(kGpt2) + " --per-layer").out;
  for (int i = 0; i < 12; ++i) EXPECT_THAT(out, HasSubstr("\ntransformer.h." + std::to_string(i) + " "));
  EXPECT_THAT(out, testing::Not(HasSubstr("12 x")));
}

TEST(ShowModel, BlocksThatDifferAreRowsOfTheirOwn) {
  // The first three blocks are recomputed, the other nine are not.
  const std::string out =
      run("show gpt2 --recompute full --recompute-method block --recompute-num-layers 3 --seq-length 8").out;
  EXPECT_THAT(out, HasSubstr("\ntransformer.h.0-2  3 x "));
  EXPECT_THAT(out, HasSubstr("\ntransformer.h.3-11  9 x "));
}

TEST(ShowModel, GraphPrintsEverySection) {
  const std::string out = run("show gpt2 --seq-length 8 --dtype fp32 --graph").out;
  EXPECT_TRUE(out.starts_with("# graph 1 of 2\n"));
  const std::size_t forward = out.find("\n# section forward\n");
  const std::size_t backward = out.find("\n# section backward\n");
  const std::size_t optimizer = out.find("\n# section optimizer\n");
  const std::size_t parameter = out.find("parameter transformer.wte.weight: f32[50257, 768]\n");
  const std::size_t loss = out.find("cross_entropy(");
  ASSERT_NE(optimizer, std::string::npos);
  EXPECT_LT(parameter, forward);
  EXPECT_LT(forward, loss);
  EXPECT_LT(loss, backward);
  EXPECT_LT(backward, optimizer);
  EXPECT_TRUE(out.ends_with("[optimizer]\n"));
  const std::string generate = run("show gpt2 --step generate --graph").out;
  EXPECT_THAT(generate, HasSubstr("# graph 2 of 2\n"));
  EXPECT_THAT(generate, HasSubstr("\n# section decode\n"));
}

TEST(ShowModel, SameInputSameText) {
  EXPECT_EQ(run(kGpt2).out, run(kGpt2).out);
  EXPECT_EQ(run_json(kGpt2).dump(), run_json(kGpt2).dump());
}

}  // namespace
}  // namespace nadi::inline show
