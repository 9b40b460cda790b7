#include "nadi/text/tokenizer_json.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"
#include "nadi/text/vocabulary_builder.h"

namespace nadi::inline files {
namespace {

bool is_off(const JsonValue& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_string()) return value.as_string().empty();
  return value.is_number() && value.as_double() == 0;
}

AddedToken read_added_token(const JsonValue& entry, std::int64_t number, VocabularyBuilder& builder) {
  for (const std::string_view flag : {"single_word", "lstrip", "rstrip"}) require_off(entry, flag);
  const JsonValue content = entry.at("content");
  if (const auto wrong = builder.add(content.as_string(), number)) throw error_at(content, *wrong);
  AddedToken token;
  token.text = content.as_string();
  token.id = static_cast<TokenId>(number);
  if (const auto special = entry.find("special")) token.special = special->as_bool();
  // What the tokenizers package does where the key is missing: text is normalized, special tokens are not.
  const auto normalized = entry.find("normalized");
  token.normalized = normalized ? normalized->as_bool() : !token.special;
  return token;
}

}  // namespace

void require_off(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (value && !is_off(*value)) throw error_at(*value, format("'{}' other than off is not supported", key));
}

void read_vocabulary(const JsonValue& vocabulary, VocabularyBuilder& builder) {
  for (const auto& [token, number] : vocabulary.items()) {
    if (const auto wrong = builder.add(token, number.as_int64())) throw error_at_key(number, *wrong);
  }
}

std::vector<AddedToken> read_added_tokens(const JsonValue& root, VocabularyBuilder& builder) {
  std::vector<AddedToken> tokens;
  const auto list = root.find("added_tokens");
  if (!list || list->is_null()) return tokens;
  for (const JsonValue& entry : list->elements())
    tokens.push_back(read_added_token(entry, entry.at("id").as_int64(), builder));
  return tokens;
}

std::vector<AddedToken> read_added_tokens_decoder(const JsonValue& root, VocabularyBuilder& builder) {
  std::vector<AddedToken> tokens;
  const auto list = root.find("added_tokens_decoder");
  if (!list || list->is_null()) return tokens;
  for (const auto& [key, entry] : list->items()) {
    std::int64_t number = 0;
    if (!read_number(key, number)) throw error_at_key(entry, format("'{}' is no token number", key));
    tokens.push_back(read_added_token(entry, number, builder));
  }
  return tokens;
}

void add_special_if_present(std::string_view text, const VocabularyBuilder& builder,
                            std::vector<AddedToken>& tokens) {
  const auto id = builder.find(text);
  if (!id || std::ranges::find(tokens, text, &AddedToken::text) != tokens.end()) return;
  tokens.push_back({.text = std::string(text), .id = *id, .special = true});
}

}  // namespace nadi::inline files
