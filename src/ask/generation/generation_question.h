// Text from a model: what `nadi generate` is asked.
//
//   const ResolvedGeneration asked = resolve({.model = "gpt2/", .prompt = "Once upon a time"});
//   Generator generator(asked.request.config, asked.request.options);             // generate/generator.h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/generate/generation_request.h"

namespace nadi::inline ask {

// Where nothing is named.
inline constexpr const char* kDefaultGeneratedModel = "gpt3-125m";
// Prompts at a time, at most. Larger batches need more memory.
inline constexpr std::int64_t kDefaultPromptBatch = 8;
// Where there is no prompt: random tokens, and how many follow them.
inline constexpr std::int64_t kDefaultRandomTokens = 10;
inline constexpr std::int64_t kDefaultTokensAfterRandom = 20;

struct GenerationQuestion {
  std::string model = {};  // a name, a config.json, or a folder with weights; else kDefaultGeneratedModel
  std::string model_config = {};              // in place of `model`: a config.json
  std::string model_type = {};                // of a configuration that does not say it
  std::optional<std::string> tokenizer = {};  // a folder or file; else the one in the model's folder

  // The prompt: one of these. None: random tokens.
  std::optional<std::string> prompt = {};
  std::string prompts = {};  // a file of them
  std::vector<TokenId> prompt_tokens = {};
  std::optional<std::int64_t> random_tokens = {};

  std::optional<std::int64_t> output_tokens = {};  // at most; else those of `options`, or as many as fit
  std::optional<std::int64_t> batch_size = {};  // prompts at a time; of random tokens the number of prompts
  std::string stop = {};                        // the text ends before it
  GeneratorOptions options = {};                // sampling and computing; sizes and weights are decided here
};

// A request that lacks nothing but what becomes of its trace.
struct ResolvedGeneration {
  GenerationRequest request;
  std::vector<std::string> notes = {}, warnings = {};
};

// Error (usage) for several prompts, for a text without a tokenizer, for tokens that the model does not have, and as
// use_model(), use_tokenizer() and fit_lengths() throw.
ResolvedGeneration resolve(const GenerationQuestion& question);

}  // namespace nadi::inline ask
