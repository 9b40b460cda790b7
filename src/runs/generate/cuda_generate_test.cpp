// Tokens that a GPU generates are those of the CPU, in fp32: greedy, and drawn with the same random numbers.
#include <gtest/gtest.h>

#include "nadi/generate/generator.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline runs {
namespace {

using Tokens = std::vector<TokenId>;

std::vector<Tokens> generated(const std::string& model, const GeneratorOptions& options) {
  Generator generator(*find_built_in_model(model), options);
  std::vector<Tokens> tokens;
  const std::vector<Tokens> prompts{{5, 17, 3}, {60}, {9, 1, 2, 33, 40}};
  for (const Generation& generation :
       generator.generate(prompts, [](std::size_t, TokenId) { return true; }).generations)
    tokens.push_back(generation.tokens);
  return tokens;
}

TEST(CudaGenerate, GivesTheTokensOfTheCpu) {
  for (const char* model : {"gpt2-tiny", "llama-tiny"})
    for (const std::int64_t batch : {1, 3})
      for (const double temperature : {0.0, 0.8}) {
        SCOPED_TRACE(std::string(model) + ", batch " + std::to_string(batch));
        GeneratorOptions options{.batch_size = batch,
                                 .input_tokens = 5,
                                 .output_tokens = 30,
                                 .temperature = temperature,
                                 .top_k = temperature > 0 ? 40 : 0,
                                 .threads = 1};
        const std::vector<Tokens> expected = generated(model, options);
        options.device = DeviceKind::kCuda;
        EXPECT_EQ(generated(model, options), expected);
      }
}

}  // namespace
}  // namespace nadi::inline runs
