// Collects the tokens of a vocabulary, in whatever order a file has them, and sees to it that there is one
// per number and one number per token.
//
//   VocabularyBuilder builder;
//   if (const auto wrong = builder.add(text, number)) throw error_at(value, *wrong);
//   if (const auto wrong = builder.incomplete()) throw input_error({.file = file}, *wrong);
//   vocabulary.tokens = builder.take();
//
// What is wrong comes back as a message, since only the caller knows the place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nadi/text/string_hash.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

class VocabularyBuilder {
 public:
  // The same token with the same number again is no mistake: added tokens are often part of the vocabulary.
  std::optional<std::string> add(std::string_view text, std::int64_t number);

  // A token that is there.
  std::optional<TokenId> find(std::string_view text) const;

  // Numbers must go from 0 on without holes.
  std::optional<std::string> incomplete() const;

  // In the order of their numbers. The builder is empty afterwards.
  std::vector<std::string> take();

 private:
  std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>> numbers_;
  std::unordered_map<TokenId, std::string_view>
      tokens_;  // views of the keys of numbers_, which stay in place
};

}  // namespace nadi::inline files
