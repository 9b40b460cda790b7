#include "nadi/generate/prompts.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/random.h"
#include "nadi/data/line_reader.h"
#include "nadi/model/model_config.h"

namespace nadi::inline runs {
namespace {

// Places in the line become places in the file.
std::string prompt_in(const LineReader& lines) {
  try {
    return parse_json(std::string(lines.line()), lines.place().file).root().at("prompt").as_string();
  } catch (const Error& error) {
    Place place = lines.place();
    place.column = error.place().column;
    throw input_error(place, error.message(), R"(a line looks like {"prompt": "Once upon a time"})");
  }
}

}  // namespace

std::vector<std::string> read_prompts(const std::filesystem::path& path) {
  const bool json = path.extension() == ".jsonl";
  std::vector<std::string> prompts;
  LineReader lines(path);
  while (lines.next()) {
    prompts.push_back(json ? prompt_in(lines) : std::string(lines.line()));
    if (prompts.back().empty())
      throw input_error(lines.place(), "the prompt is empty",
                        json ? "" : "a prompt of several lines wants a .jsonl file");
  }
  if (prompts.empty()) throw input_error({.file = path.string()}, "the file holds no prompts");
  return prompts;
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, std::string_view text, const Place& place) {
  std::vector<TokenId> ids;
  const SpecialTokens& special = tokenizer.special_tokens();
  if (special.begin && special.begin != special.end) ids.push_back(*special.begin);
  const std::size_t before = ids.size();
  tokenizer.encode(text, ids);
  if (text.empty() && ids.empty()) {
    // Texts follow each other in training, with this token between them.
    const auto between = special.begin ? special.begin : special.end;
    if (!between)
      throw input_error(place,
                        "the prompt is empty, and the tokenizer has no token that begins or ends a text");
    ids.push_back(*between);
  }
  if (!text.empty() && ids.size() == before)
    throw input_error(place, "the prompt holds nothing that the tokenizer has a token for");
  return ids;
}

std::vector<TokenId> random_prompt(const RandomPrompt& request, std::size_t number) {
  const RandomKey key{.seed = request.seed, .step = number, .site = site_of("prompt")};
  std::vector<TokenId> ids(request.tokens);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<TokenId>(random_word(key, i) % static_cast<std::uint64_t>(request.vocabulary));
  return ids;
}

Prompts encode_prompts(const Tokenizer& tokenizer, std::vector<std::string> texts,
                       const std::filesystem::path& file) {
  Prompts prompts{.texts = std::move(texts)};
  for (std::size_t i = 0; i < prompts.texts.size(); ++i) {
    Place place;
    if (!file.empty()) place = {.file = file.string(), .line = static_cast<std::int64_t>(i + 1)};
    prompts.ids.push_back(encode_prompt(tokenizer, prompts.texts[i], place));
  }
  return prompts;
}

Prompts random_prompts(const RandomPrompt& request, std::int64_t count) {
  Prompts prompts;
  for (std::int64_t i = 0; i < count; ++i) prompts.ids.push_back(random_prompt(request, i));
  return prompts;
}

std::int64_t longest_prompt(std::span<const std::vector<TokenId>> prompts, const ModelConfig& config,
                            std::int64_t output_tokens) {
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto length = static_cast<std::int64_t>(prompts[i].size());
    if (length > longest_sequence(config) - output_tokens)
      throw input_error({},
                        format("prompt {} of {} tokens and an output of {} do not fit {}, which has {}",
                               i + 1, length, output_tokens, config.name, room_of(config)),
                        "shorten the prompt, or ask for fewer tokens");
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace nadi::inline runs
