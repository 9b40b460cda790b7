// Tokens that are looked for in the text as they are, before anything else is done to it: "<|endoftext|>",
// "[MASK]", and whatever a tokenizer.json lists as added.
//
//   while (const auto match = finder.find(text, from)) {
//     use_plain(text.substr(from, match->begin - from));
//     use_token(match->id);
//     from = match->end;
//   }
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct AddedToken {
  std::string text;  // not empty
  TokenId id = 0;
  bool special = false;     // has a meaning of its own, rather than being text
  bool normalized = false;  // looked for in the text after normalization, and normalized itself
};

class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::span<const AddedToken> tokens);

  struct Match {
    std::size_t begin;
    std::size_t end;
    TokenId id;
  };
  // The first one that begins at `from` or later; of several that begin there, the longest.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

  bool empty() const { return tokens_.empty(); }

 private:
  std::size_t next_candidate(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;     // longest first
  std::string common_;                 // what all of them begin with, "" when nothing
  std::array<bool, 256> begins_ = {};  // whether a token begins with this byte
};

// Those with a name that everybody uses, whatever the tokenizer.
SpecialTokens named_special_tokens(std::span<const AddedToken> tokens);

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

}  // namespace nadi::inline files
