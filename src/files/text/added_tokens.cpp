#include "nadi/text/added_tokens.h"

#include <algorithm>
#include <functional>

namespace nadi::inline files {
namespace {

struct KnownName {
  std::string_view text;
  std::optional<TokenId> SpecialTokens::*member;
};
// The first name that is there wins.
constexpr std::array kKnownNames{
    KnownName{"<|begin_of_text|>", &SpecialTokens::begin},
    KnownName{kEndOfText, &SpecialTokens::end},
    KnownName{"<|end_of_text|>", &SpecialTokens::end},
    KnownName{"[PAD]", &SpecialTokens::padding},
    KnownName{"<|finetune_right_pad_id|>", &SpecialTokens::padding},
    KnownName{"[UNK]", &SpecialTokens::unknown},
    KnownName{"[CLS]", &SpecialTokens::classify},
    KnownName{"[SEP]", &SpecialTokens::separate},
    KnownName{"[MASK]", &SpecialTokens::mask},
};

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::span<const AddedToken> tokens)
    : tokens_(tokens.begin(), tokens.end()) {
  std::ranges::stable_sort(tokens_, std::greater<>(),
                           [](const AddedToken& token) { return token.text.size(); });
  if (!tokens_.empty()) common_ = tokens_[0].text;
  for (const AddedToken& token : tokens_) {
    begins_[static_cast<unsigned char>(token.text[0])] = true;
    const auto [differs, _] = std::ranges::mismatch(common_, token.text);
    common_.erase(differs, common_.end());
  }
}

std::size_t AddedTokenFinder::next_candidate(std::string_view text, std::size_t from) const {
  if (!common_.empty()) return std::min(text.find(common_, from), text.size());
  while (from < text.size() && !begins_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

std::optional<AddedTokenFinder::Match> AddedTokenFinder::find(std::string_view text, std::size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (std::size_t at = next_candidate(text, from); at < text.size(); at = next_candidate(text, at + 1)) {
    for (const AddedToken& token : tokens_) {
      if (text.compare(at, token.text.size(), token.text) == 0)
        return Match{at, at + token.text.size(), token.id};
    }
  }
  return std::nullopt;
}

SpecialTokens named_special_tokens(std::span<const AddedToken> tokens) {
  SpecialTokens special;
  for (const KnownName& name : kKnownNames) {
    if ((special.*name.member).has_value()) continue;
    const auto found = std::ranges::find(tokens, name.text, &AddedToken::text);
    if (found != tokens.end()) special.*name.member = found->id;
  }
  return special;
}

}  // namespace nadi::inline files
