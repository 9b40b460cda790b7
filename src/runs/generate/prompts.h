// Where prompts come from: a file, a text, or chance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline describe {
struct ModelConfig;
}  // namespace nadi::inline describe

namespace nadi::inline runs {

struct Prompts {
  std::vector<std::vector<TokenId>> ids = {};
  std::vector<std::string> texts = {};  // empty where the tokens are random
};

// A prompt on each line; or, in a file whose name ends with .jsonl, a JSON object on each line whose key
// "prompt" is the prompt, and whose other keys are left alone. Error (input) with the line: an empty prompt,
// an empty file, what is not UTF-8 or not JSON.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

// The tokens of a prompt as training has them in front of a text: begin of text first, where the tokenizer
// has such a token besides the one at the end. An empty prompt is that token alone, or the one between texts.
// Error (input), with the place where the prompt stands: a text of which nothing has a token, an empty one
// for a tokenizer without such tokens, or a text that is not UTF-8.
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, std::string_view text,
                                   const Place& place = {});

// All of the texts; `file` is where they stand, one on each line, for the places of errors.
Prompts encode_prompts(const Tokenizer& tokenizer, std::vector<std::string> texts,
                       const std::filesystem::path& file = {});

// Tokens that mean nothing, for a model without tokenizer or weights: each equally likely of the first
// `vocabulary`. The same seed gives prompt `number` the same tokens, however many prompts there are.
struct RandomPrompt {
  std::int64_t tokens = 1;
  std::int64_t vocabulary = 1;
  std::uint64_t seed = 0;
};
std::vector<TokenId> random_prompt(const RandomPrompt& request, std::size_t number);
Prompts random_prompts(const RandomPrompt& request, std::int64_t count);

// Length of the longest prompt. Error (input), with the numbers, when it leaves no room for the output among
// the model's positions.
std::int64_t longest_prompt(std::span<const std::vector<TokenId>> prompts, const ModelConfig& config,
                            std::int64_t output_tokens);

}  // namespace nadi::inline runs
