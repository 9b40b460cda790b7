#include "nadi/generate/generation_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::HasSubstr;

GenerationRequest request_of(std::size_t prompt_tokens) {
  GenerationRequest request;
  use_model(request, "tiny", generating_model(architecture_named("gpt2")));  // 24 positions
  request.prompts.ids = {{1}, std::vector<TokenId>(prompt_tokens, 2)};
  return request;
}

TEST(GenerationRequest, DefaultLengthsAreThoseThatFit) {
  GenerationRequest request = request_of(20);
  EXPECT_TRUE(fit_lengths(request, {}));
  EXPECT_EQ(request.options.input_tokens, 20);
  EXPECT_EQ(request.options.output_tokens, 24 - 20);
  request.options.output_tokens = 3;
  EXPECT_FALSE(fit_lengths(request, {}));
  EXPECT_EQ(request.options.output_tokens, 3);
}

TEST(GenerationRequest, GivenLengthsMustFit) {
  GenerationRequest request = request_of(20);
  EXPECT_FALSE(fit_lengths(request, 4));
  EXPECT_EQ(request.options.output_tokens, 4);
  EXPECT_THROW(fit_lengths(request, 5), Error);
}

TEST(GenerationRequest, TakesModelsThatGenerate) {
  GenerationRequest request;
  try {
    use_model(request, "tiny", generating_model(architecture_named("bert")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tiny is not a model that generates text"));
  }
  // No folder: no weights, and no tokenizer beside them.
  use_model(request, "tiny", generating_model(architecture_named("llama")));
  EXPECT_TRUE(request.options.weights.empty());
  EXPECT_EQ(use_tokenizer(request, {}), "");
  EXPECT_EQ(request.tokenizer, nullptr);
}

}  // namespace
}  // namespace nadi::inline runs
