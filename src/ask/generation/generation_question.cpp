#include "nadi/generation/generation_question.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/config_file.h"

namespace nadi::inline ask {
namespace {

// Whether a prompt is named in any way.
bool has_prompt(const GenerationQuestion& question) {
  return question.prompt || !question.prompts.empty() || !question.prompt_tokens.empty() ||
         question.random_tokens;
}

void resolve_model(const GenerationQuestion& question, ResolvedGeneration& asked) {
  if (!question.model.empty() && !question.model_config.empty())
    throw usage_error("a model and a configuration contradict each other", "give one of them");
  const bool file = !question.model_config.empty();
  if (!file && question.model.empty())
    asked.notes.push_back(format("no MODEL: using {}", kDefaultGeneratedModel));
  const std::string model = file                     ? question.model_config
                            : question.model.empty() ? kDefaultGeneratedModel
                                                     : question.model;
  use_model(
      asked.request, model,
      file ? read_model_config(model, question.model_type) : load_model_config(model, question.model_type));
  if (const std::string misfit = use_tokenizer(asked.request, question.tokenizer); !misfit.empty())
    asked.warnings.push_back(format("the tokenizer in {} is not used: {}", model, misfit));
}

Prompts random_prompts_of(const GenerationQuestion& question, const GenerationRequest& request,
                          std::int64_t length) {
  if (length > longest_sequence(request.config))
    throw usage_error(format("{} input tokens do not fit {}, which has {}", length, request.config.name,
                             room_of(request.config)));
  const std::int64_t vocabulary =
      request.tokenizer ? request.tokenizer->vocabulary_size() : request.config.vocabulary;
  return random_prompts({.tokens = length, .vocabulary = vocabulary, .seed = question.options.seed},
                        request.options.batch_size);
}

void check_tokens(const std::vector<TokenId>& tokens, const ModelConfig& config) {
  for (const TokenId token : tokens)
    if (token < 0 || token >= config.vocabulary)
      throw usage_error(format("token {} is outside of the vocabulary of {}", token, config.name),
                        format("ids are 0 to {}", config.vocabulary - 1));
}

void resolve_prompts(const GenerationQuestion& question, GenerationRequest& request) {
  GeneratorOptions& options = request.options;
  if (question.random_tokens || !has_prompt(question)) {
    options.batch_size = question.batch_size.value_or(1);
    request.prompts = random_prompts_of(question, request,
                                        question.random_tokens.value_or(std::min(
                                            kDefaultRandomTokens, longest_sequence(request.config) - 1)));
    return;
  }
  if (!question.prompt_tokens.empty()) {
    check_tokens(question.prompt_tokens, request.config);
    request.prompts.ids = {question.prompt_tokens};
    options.batch_size = 1;
    return;
  }
  const Tokenizer* const tokenizer = request.tokenizer.get();
  if (tokenizer == nullptr)
    throw usage_error(format("a text prompt needs a tokenizer, and {} has none", request.model),
                      "name a tokenizer, or give a prompt of tokens");
  request.prompts = question.prompt
                        ? encode_prompts(*tokenizer, {*question.prompt})
                        : encode_prompts(*tokenizer, read_prompts(question.prompts), question.prompts);
  const auto count = static_cast<std::int64_t>(request.prompts.ids.size());
  options.batch_size = std::min(question.batch_size.value_or(kDefaultPromptBatch), count);
}

void resolve_lengths(const GenerationQuestion& question, ResolvedGeneration& asked) {
  GenerationRequest& request = asked.request;
  if (!has_prompt(question)) {
    request.options.output_tokens = kDefaultTokensAfterRandom;
    fit_lengths(request, question.output_tokens);
    asked.notes.push_back(format("no prompt: {} random tokens in, {} tokens out",
                                 request.options.input_tokens, request.options.output_tokens));
  } else if (fit_lengths(request, question.output_tokens)) {
    asked.notes.push_back(format("{} output tokens: there is room for no more in {}, which has {}",
                                 request.options.output_tokens, request.config.name,
                                 room_of(request.config)));
  }
}

}  // namespace

ResolvedGeneration resolve(const GenerationQuestion& question) {
  const int prompts = static_cast<int>(question.prompt.has_value()) + !question.prompts.empty() +
                      !question.prompt_tokens.empty() + question.random_tokens.has_value();
  if (prompts > 1) throw usage_error("several prompts contradict each other", "give one of them");
  ResolvedGeneration asked;
  asked.request.options = question.options;
  resolve_model(question, asked);
  resolve_prompts(question, asked.request);
  resolve_lengths(question, asked);
  if (!question.stop.empty() && !asked.request.tokenizer)
    throw usage_error("a text to stop at needs a tokenizer");
  asked.request.stop = question.stop;
  return asked;
}

}  // namespace nadi::inline ask
