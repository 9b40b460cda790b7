#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline show {
namespace {

TEST(Models, ListsEveryBuiltInModel) {
  const CliRun done = run("models");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  for (const ModelConfig& config : built_in_models())
    EXPECT_THAT(done.out, testing::HasSubstr("\n" + config.name + " "));
  EXPECT_LE(done.out.find('\n'), 101u) << "fits 101 columns";
}

TEST(Models, CountsParametersInTheGraph) {
  const Json models = run_json("models")["models"];
  ASSERT_EQ(models.size(), built_in_models().size());
  EXPECT_EQ(models[0]["name"], "gpt2");
  // Words 50257 * 768, positions 1024 * 768, final norm 2 * 768, and per block two norms 4 * 768,
  // attention 768 * 2304 + 2304 + 768 * 768 + 768, feed-forward 2 * 768 * 3072 + 3072 + 768.
  const std::int64_t block = 4 * 768 + 768 * 2304 + 2304 + 768 * 768 + 768 + 2 * 768 * 3072 + 3072 + 768;
  const std::int64_t parameters = 50257 * 768 + 1024 * 768 + 2 * 768 + 12 * block;
  EXPECT_EQ(parameters, 124439808);
  EXPECT_EQ(models[0]["parameters"], parameters);
  EXPECT_EQ(models[0]["bf16_bytes"], 2 * parameters);
  EXPECT_EQ(models[0]["fp32_bytes"], 4 * parameters);
  EXPECT_THAT(run("models").out, testing::HasSubstr("124,439,808   237 MiB"));
}

TEST(Models, ShowsGroupedHeads) {
  EXPECT_THAT(run("models").out, testing::ContainsRegex("llama3.1-8b .* 32/8 "));
}

}  // namespace
}  // namespace nadi::inline show
