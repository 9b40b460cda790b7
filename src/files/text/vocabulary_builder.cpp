#include "nadi/text/vocabulary_builder.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/bpe_merger.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {

std::optional<std::string> VocabularyBuilder::add(std::string_view text, std::int64_t number) {
  if (text.empty()) return "a token is empty";
  if (find_invalid_utf8(text) != std::string_view::npos) return "a token is not UTF-8";
  if (number < 0 || number >= kMaximumVocabulary)
    return format("token number {} is not between 0 and {}", number, kMaximumVocabulary - 1);
  const auto id = static_cast<TokenId>(number);
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) {
    if (known->second == id) return std::nullopt;
    return format("token '{}' has two numbers, {} and {}", text, known->second, number);
  }
  if (const auto taken = tokens_.find(id); taken != tokens_.end())
    return format("number {} is given to two tokens, '{}' and '{}'", number, taken->second, text);
  const auto added = numbers_.emplace(text, id).first;
  tokens_.emplace(id, added->first);
  return std::nullopt;
}

std::optional<TokenId> VocabularyBuilder::find(std::string_view text) const {
  const auto known = numbers_.find(text);
  if (known == numbers_.end()) return std::nullopt;
  return known->second;
}

std::optional<std::string> VocabularyBuilder::incomplete() const {
  if (tokens_.empty()) return "the vocabulary is empty";
  const auto count = static_cast<TokenId>(tokens_.size());
  for (TokenId id = 0; id < count; ++id) {
    if (tokens_.contains(id)) continue;
    return format("the vocabulary has a hole: {} tokens, and none with number {}", count, id);
  }
  return std::nullopt;
}

std::vector<std::string> VocabularyBuilder::take() {
  check(!incomplete(), "a vocabulary with holes was taken");
  std::vector<std::string> tokens(numbers_.size());
  for (const auto& [text, id] : numbers_) tokens[static_cast<std::size_t>(id)] = text;
  tokens_.clear();
  numbers_.clear();
  return tokens;
}

}  // namespace nadi::inline files
