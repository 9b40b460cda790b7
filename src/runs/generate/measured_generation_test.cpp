#include "nadi/generate/measured_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/generate/generation_request.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline runs {
namespace {

GenerationRequest request_for_tests(GeneratorOptions options) {
  GenerationRequest request;
  request.config = generating_model(architecture_named("gpt2"));
  request.prompts.ids = {{5, 17, 3}, {60}, {9, 1, 2, 33, 40}};
  options.batch_size = 2;
  options.input_tokens = 5;
  options.output_tokens = 6;
  options.threads = 1;
  request.options = options;
  return request;
}

TEST(MeasuredGeneration, WarmUpAndRepetitionsChangeNoToken) {
  GenerationRequest request = request_for_tests({.temperature = 0.9, .top_k = 12});
  std::vector<std::vector<TokenId>> plain;
  for (const auto& [warmup, repeat] : {std::pair{0, 1}, {1, 1}, {3, 4}}) {
    request.warmup = warmup;
    request.repeat = repeat;
    Generator generator(request.config, request.options);
    int told = 0, again = 0;
    const GenerationResult result = measured_generation(
        generator, request,
        {.token = [&](std::size_t, TokenId) { return ++told > 0; },
         .again = [&]() -> TokenCallback { return [&](std::size_t, TokenId) { return ++again > 0; }; }});
    std::vector<std::vector<TokenId>> tokens;
    for (const Generation& generation : result.generations) tokens.push_back(generation.tokens);
    if (plain.empty()) plain = tokens;
    EXPECT_EQ(tokens, plain);
    // Three prompts of six tokens.
    EXPECT_EQ(told, 18);
    EXPECT_EQ(again, 18 * (repeat - 1));
    ASSERT_EQ(result.repetitions.size(), static_cast<std::size_t>(repeat));
    const auto [least, most] = std::ranges::minmax(result.repetitions, {}, &GenerationTimes::decode_seconds);
    EXPECT_GE(result.decode_seconds, least.decode_seconds);
    EXPECT_LE(result.decode_seconds, most.decode_seconds);
  }
}

// Two batches of the last run, whatever came before.
TEST(MeasuredGeneration, RecordsTheLastRun) {
  GenerationRequest request = request_for_tests({.record = true});
  request.warmup = 2;
  request.repeat = 3;
  Generator generator(request.config, request.options);
  const TokenCallback all = [](std::size_t, TokenId) { return true; };
  measured_generation(generator, request, {.token = all, .again = [&] { return all; }});
  ASSERT_EQ(generator.recorded().size(), 2u);
  EXPECT_EQ(generator.recorded()[0].step, 0);
}

TEST(MeasuredGeneration, IsInterruptedBetweenRuns) {
  GenerationRequest request = request_for_tests({});
  request.repeat = 3;
  Generator generator(request.config, request.options);
  int pauses = 0;
  const TokenCallback all = [](std::size_t, TokenId) { return true; };
  EXPECT_THROW(measured_generation(generator, request,
                                   {.token = all,
                                    .again = [&] { return all; },
                                    .check_interrupted =
                                        [&] {
                                          if (++pauses == 2) throw std::runtime_error("Ctrl-C");
                                        }}),
               std::runtime_error);
}

}  // namespace
}  // namespace nadi::inline runs
