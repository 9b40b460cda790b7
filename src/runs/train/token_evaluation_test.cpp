#include "nadi/train/token_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/comm/single_process.h"
#include "nadi/generate/generator.h"
#include "nadi/model/config_file.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;

// Tiny models that transformers wrote, and what it computes on given tokens, in fp32.
const fs::path kModels = shared_data() / "transformers";

// Its figures are rounded to seven decimals.
constexpr double kPrintedDigits = 5.1e-8;
constexpr double kRelative = 1e-5;
double tolerance(double expected) {
  return kRelative * std::abs(expected) + kPrintedDigits;
}

// In memory, transformers has gates and ups of all experts of a layer in one tensor, and Mixtral's layers have the names
// of others.
std::string name_in_memory(std::string name) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  replace("block_sparse_moe", "mlp");
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = name.find(kExperts);
  if (at == std::string::npos) return name;
  const bool down = name.ends_with(".w2.weight") || name.ends_with(".down_proj.weight");
  return name.substr(0, at + kExperts.size()) + (down ? "down_proj" : "gate_up_proj");
}

class AsTransformers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!fs::exists(kModels / "expected.json"))
      GTEST_SKIP() << "there are no models of transformers in " << kModels;
    document_.emplace(read_json(kModels / "expected.json"));
  }
  JsonValue expected() const { return document_->root().at(GetParam()); }
  fs::path folder() const { return kModels / GetParam(); }

  std::optional<JsonDocument> document_;
};

TEST_P(AsTransformers, LossLogitsAndGradients) {
  TokenEvaluationRequest request{
      .config = load_model_config(folder().string()), .gradients = true, .threads = 1, .weights = folder()};
  for (const JsonValue& sequence : expected().at("ids").elements()) {
    std::vector<TokenId>& ids = request.sequences.emplace_back();
    for (const JsonValue& id : sequence.elements()) ids.push_back(static_cast<TokenId>(id.as_int64()));
    for (std::size_t i = 0; i < ids.size(); ++i)
      request.positions.push_back(
          {static_cast<std::int64_t>(request.sequences.size()) - 1, static_cast<std::int64_t>(i)});
  }
  SingleProcess world;
  const TokenEvaluation result = evaluate_tokens(request, world);
  EXPECT_TRUE(result.unused_weights.empty());
  EXPECT_NEAR(result.loss, expected().at("loss").as_double(), tolerance(expected().at("loss").as_double()));
  const JsonValue auxiliary = expected().at("aux_loss");
  const double of_routers = auxiliary.is_null() ? 0 : auxiliary.as_double();
  EXPECT_NEAR(result.auxiliary_loss, of_routers, tolerance(of_routers));

  // The error of a logit is measured against all logits of its position: some are near zero.
  const auto same_logits = [&](const std::vector<float>& ours, JsonValue theirs) {
    ASSERT_GE(ours.size(), theirs.size());
    double squares = 0;
    for (const float value : ours) squares += static_cast<double>(value) * static_cast<double>(value);
    const double scale = std::sqrt(squares / static_cast<double>(ours.size()));
    for (std::size_t i = 0; i < theirs.size(); ++i)
      EXPECT_NEAR(ours[i], theirs.at(i).as_double(), tolerance(scale)) << "of token " << i;
  };
  same_logits(result.logits.front(), expected().at("logits_first"));
  same_logits(result.logits.back(), expected().at("logits_last"));
  double sum = 0, sizes = 0;
  for (const std::vector<float>& logits : result.logits)
    for (const float value : logits) {
      sum += static_cast<double>(value);
      sizes += std::abs(static_cast<double>(value));
    }
  EXPECT_NEAR(sum, expected().at("logits_sum").as_double(), kRelative * sizes);

  const JsonValue norms = expected().at("gradient_norms");
  std::map<std::string, double> squares;
  for (const GradientNorm& gradient : result.gradients)
    squares[name_in_memory(gradient.parameter)] += gradient.norm * gradient.norm;
  ASSERT_EQ(squares.size(), norms.size());
  for (const auto& [parameter, square] : squares) {
    const double norm = norms.at(parameter).as_double();
    EXPECT_NEAR(std::sqrt(square), norm, tolerance(norm)) << parameter;
  }
}

TEST_P(AsTransformers, GreedyTokens) {
  std::vector<TokenId> tokens;
  for (const JsonValue& id : expected().at("greedy").elements())
    tokens.push_back(static_cast<TokenId>(id.as_int64()));
  constexpr std::size_t kPrompt = 8;
  const std::vector<std::vector<TokenId>> prompts{{tokens.begin(), tokens.begin() + kPrompt}};
  Generator generator(load_model_config(folder().string()),
                      {.input_tokens = kPrompt,
                       .output_tokens = static_cast<std::int64_t>(tokens.size() - kPrompt),
                       .temperature = 0,
                       .threads = 1,
                       .weights = folder()});
  const GenerationResult made = generator.generate(prompts, [](std::size_t, TokenId) { return true; });
  EXPECT_THAT(made.generations[0].tokens, testing::ElementsAreArray(tokens.begin() + kPrompt, tokens.end()));
}

INSTANTIATE_TEST_SUITE_P(All, AsTransformers, testing::Values("qwen3", "mixtral", "qwen2moe"),
                         [](const auto& tested) { return std::string(tested.param); });

TokenEvaluation evaluate(std::vector<std::vector<TokenId>> sequences, const char* architecture = "llama") {
  SingleProcess world;
  return evaluate_tokens({.config = tiny_model(architecture_named(architecture), 2),
                          .sequences = std::move(sequences),
                          .positions = {{0, 1}},
                          .gradients = true,
                          .threads = 1},
                         world);
}

// Two sequences of 3 and 6 tokens have 2 and 5 targets; their loss is the mean over the seven.
TEST(TokenEvaluation, PaddingChangesNothing) {
  const TokenEvaluation both = evaluate({{1, 2, 3}, {4, 5, 6, 7, 8, 9}});
  const TokenEvaluation first = evaluate({{1, 2, 3}}), second = evaluate({{4, 5, 6, 7, 8, 9}});
  EXPECT_EQ(both.targets, 7);
  EXPECT_NEAR(both.loss, (2 * first.loss + 5 * second.loss) / 7, 1e-6);
  ASSERT_EQ(both.logits[0].size(), 13u);
  for (std::size_t i = 0; i < 13; ++i) EXPECT_NEAR(both.logits[0][i], first.logits[0][i], 1e-5);
}

// Every token of an encoder is asked for. Dropout of the configuration does not act.
TEST(TokenEvaluation, AnEncoderIsAskedForEveryToken) {
  EXPECT_EQ(evaluate({{1, 2, 3}}, "bert").targets, 3);
  EXPECT_EQ(evaluate({{1, 2, 3}}, "bert").loss, evaluate({{1, 2, 3}}, "bert").loss);
}

TEST(TokenEvaluation, LossesOfRoutersWantAllLayers) {
  SingleProcess world;
  TokenEvaluationRequest request{
      .config = tiny_model(architecture_named("mixtral"), 2), .sequences = {{1, 2}}, .plan = {.pp = 2}};
  request.config.balance_loss = true;
  EXPECT_THROW(evaluate_tokens(request, world), Error);
}

TEST(TokenEvaluation, GradientsOfFp16AreRefused) {
  SingleProcess world;
  TokenEvaluationRequest request{.config = tiny_model(architecture_named("llama"), 1),
                                 .sequences = {{1, 2}},
                                 .gradients = true,
                                 .dtype = DType::kF16};
  EXPECT_THROW(evaluate_tokens(request, world), Error);
}

}  // namespace
}  // namespace nadi::inline runs
