#include "nadi/generate/generation_request.h"

#include <algorithm>
#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/tokenizer_check.h"

namespace nadi::inline runs {

void use_model(GenerationRequest& request, std::string model, ModelConfig config) {
  if (!config.architecture->generates()) {
    std::vector<std::string_view> titles;
    for (const Architecture& architecture : architectures())
      if (architecture->generates()) titles.push_back(architecture->title);
    throw usage_error(format("{} is not a model that generates text", config.name),
                      format("{} generate text", fmt::join(titles, ", ")));
  }
  if (std::filesystem::is_directory(model)) request.options.weights = model;
  request.model = std::move(model);
  request.config = std::move(config);
}

std::string use_tokenizer(GenerationRequest& request, const std::optional<std::string>& path) {
  if (!path && (request.options.weights.empty() || !has_tokenizer(request.model))) return "";
  const std::string name = path.value_or(request.model);
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(name);
  const std::int64_t vocabulary = request.config.vocabulary;
  if (const std::string misfit = vocabulary_misfit(*tokenizer, vocabulary); !misfit.empty() && !path)
    return misfit;
  check_vocabulary(*tokenizer, vocabulary);
  request.options.end_token = tokenizer->special_tokens().end;
  request.options.token_limit = tokenizer->vocabulary_size();
  request.tokenizer = std::move(tokenizer);
  request.tokenizer_name = name;
  return "";
}

bool fit_lengths(GenerationRequest& request, std::optional<std::int64_t> output_tokens) {
  GeneratorOptions& options = request.options;
  options.input_tokens = longest_prompt(request.prompts.ids, request.config, output_tokens.value_or(1));
  const std::int64_t room = longest_sequence(request.config) - options.input_tokens;
  const bool cut = !output_tokens && room < options.output_tokens;
  options.output_tokens = output_tokens.value_or(std::min(options.output_tokens, room));
  return cut;
}

}  // namespace nadi::inline runs
