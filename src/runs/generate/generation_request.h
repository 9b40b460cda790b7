// What is to be generated: a model, its tokenizer, prompts, and how they are continued. Made step by step, in
// this order:
//
//   GenerationRequest request;
//   use_model(request, "gpt2/", load_model_config("gpt2/"));
//   use_tokenizer(request, {});                             // the one in gpt2/
//   request.prompts = encode_prompts(*request.tokenizer, {"Once upon a time"});
//   fit_lengths(request, {});
//   Generator generator(request.config, request.options);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/generate/generator.h"
#include "nadi/generate/prompts.h"
#include "nadi/model/model_config.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline runs {

struct GenerationRequest {
  std::string model;  // as the user named it
  ModelConfig config;
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr means tokens are shown as numbers
  std::string tokenizer_name;            // the path of the tokenizer; "" without one
  Prompts prompts;
  GeneratorOptions options;
  std::int64_t warmup = 1;                   // runs of two tokens before anything is measured
  std::int64_t repeat = 1;                   // runs that are measured
  std::string stop;                          // the text ends before it; "": nowhere
  std::string trace_prefix;                  // of the files of the trace; "": no trace
  Overwrite overwrite = Overwrite::kRefuse;  // of the trace
};

// Sets the model, and its weights where `model` is a folder. Error (usage) for a model that does not generate
// text.
void use_model(GenerationRequest& request, std::string model, ModelConfig config);

// Loads the tokenizer at `path`, which must fit the model: else Error (input). Without `path`, takes the
// tokenizer in the folder of the model, if there is one that fits. Returns why such a tokenizer was not
// taken; "" otherwise.
std::string use_tokenizer(GenerationRequest& request, const std::optional<std::string>& path);

// Sets the lengths for the longest prompt and so many output tokens, which must fit the positions of the
// model: else Error (input). Without `output_tokens`, they are those of the options, or as many as fit.
// Returns whether these are fewer.
bool fit_lengths(GenerationRequest& request, std::optional<std::int64_t> output_tokens);

}  // namespace nadi::inline runs
