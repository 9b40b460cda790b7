#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

CliRun evaluate(std::string further) {
  return run("evaluate qwen3-tiny --threads 1 " + further);
}

// The loss is that of the logits: -log softmax of the next token, of which there is one.
TEST(EvaluateCommand, SaysLossLogitsAndGradients) {
  const WorkingFolder folder;
  write_text("ids.json", "[[67, 113]]");
  const CliRun done = evaluate("--tokens ids.json --positions all --gradients --json");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("the weights are random"));
  const Json json = Json::parse(done.out);
  ASSERT_EQ(json["logits"].size(), 2u);
  EXPECT_EQ(json["targets"], 1);
  EXPECT_EQ(json["auxiliary_loss"], 0);
  const std::vector<double> logits = json["logits"][0]["values"];
  ASSERT_EQ(logits.size(), 4096u);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  EXPECT_NEAR(json["loss"].get<double>(), std::log(sum) - logits[113], 1e-5);
  // Words, head and last norm; in each of 4 layers seven matrices, two norms, and those of queries and keys.
  EXPECT_EQ(json["gradients"].size(), 3u + 4 * 11);
  for (const Json& gradient : json["gradients"])
    EXPECT_GT(gradient["norm"].get<double>(), 0) << gradient["parameter"];
}

TEST(EvaluateCommand, ChoosesPositions) {
  const WorkingFolder folder;
  write_text("ids.json", "[[1, 2, 3], [4, 5]]");
  const auto places = [&](const std::string& flags) {
    std::string text;
    const Json json = Json::parse(evaluate("--tokens ids.json --json " + flags).out);
    for (const Json& logits : json["logits"])
      text += logits["sequence"].dump() + ":" + logits["position"].dump() + " ";
    return text;
  };
  EXPECT_EQ(places(""), "0:2 1:1 ");
  EXPECT_EQ(places("--positions 1:0,0:2"), "1:0 0:2 ");
  EXPECT_EQ(places("--positions all"), "0:0 0:1 0:2 1:0 1:1 ");
  EXPECT_THAT(evaluate("--tokens ids.json").out, HasSubstr("sequence 1 position 1: token "));
}

TEST(EvaluateCommand, BadInputHasItsPlace) {
  const WorkingFolder folder;
  const auto refusal = [](const std::string& text) {
    write_text("ids.json", text);
    const CliRun done = evaluate("--tokens ids.json");
    EXPECT_EQ(done.code, 3) << text << done.err;
    return done.err;
  };
  EXPECT_THAT(refusal("[[1, 4096]]"),
              HasSubstr("ids.json:1:6: token 4096 is outside of the model's vocabulary of 4096"));
  EXPECT_THAT(refusal("[[]]"), HasSubstr("a sequence without tokens"));
  EXPECT_THAT(refusal("{}"), HasSubstr("an array of arrays"));
  EXPECT_THAT(refusal("[[1,"), HasSubstr("ids.json"));
  std::string long_one = "[[0";
  for (int i = 0; i < 512; ++i) long_one += ",0";
  EXPECT_THAT(refusal(long_one + "]]"),
              HasSubstr("sequence 0 has 513 tokens, and qwen3-tiny has 512 positions"));
  EXPECT_EQ(evaluate("--tokens nowhere.json").code, 3);
}

TEST(EvaluateCommand, WrongArgumentsAreRefused) {
  const WorkingFolder folder;
  write_text("ids.json", "[[1, 2, 3]]");
  const auto refusal = [](const std::string& flags) {
    const CliRun done = evaluate(flags);
    EXPECT_EQ(done.code, 2) << flags << done.err;
    return done.err;
  };
  EXPECT_THAT(refusal(""), HasSubstr("--tokens is missing"));
  EXPECT_THAT(refusal("--tokens ids.json --positions 1:0"), HasSubstr("there are 1 sequences"));
  EXPECT_THAT(refusal("--tokens ids.json --positions 0:3"), HasSubstr("that sequence has 3 tokens"));
  EXPECT_THAT(refusal("--tokens ids.json --positions 3"), HasSubstr("not '3'"));
  EXPECT_THAT(refusal("--tokens ids.json --positions 0:-1"), HasSubstr("not '0:-1'"));
  EXPECT_THAT(refusal("--tokens ids.json --dtype fp16 --gradients"),
              HasSubstr("gradients of fp16 are scaled"));
}

}  // namespace
}  // namespace nadi::inline show
