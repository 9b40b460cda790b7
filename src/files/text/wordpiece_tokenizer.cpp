#include "nadi/text/wordpiece_tokenizer.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/token_table.h"
#include "nadi/text/utf8.h"
#include "nadi/text/wordpiece_files.h"

namespace nadi::inline files {
namespace {

std::vector<AddedToken> with_normalized(const WordPieceVocabulary& vocabulary, bool normalized) {
  std::vector<AddedToken> chosen;
  const BertNormalizer normalizer(vocabulary.normalizer);
  for (AddedToken token : vocabulary.added) {
    if (token.normalized != normalized) continue;
    if (normalized) token.text = normalizer.normalize(token.text);
    if (!token.text.empty()) chosen.push_back(std::move(token));
  }
  return chosen;
}

// Uses the parts of the text between tokens, and the tokens, in order.
template <typename UsePlain>
void split_at_tokens(const AddedTokenFinder& finder, std::string_view text, std::vector<TokenId>& ids,
                     UsePlain&& use_plain) {
  std::size_t from = 0;
  while (const auto match = finder.find(text, from)) {
    use_plain(text.substr(from, match->begin - from));
    ids.push_back(match->id);
    from = match->end;
  }
  use_plain(text.substr(from));
}

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(WordPieceVocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)),
        table_(character_table()),
        normalizer_(vocabulary_.normalizer),
        literal_(with_normalized(vocabulary_, false)),
        normalized_(with_normalized(vocabulary_, true)),
        beginnings_(vocabulary_.tokens.size()),
        continuations_(vocabulary_.tokens.size()),
        special_(named_special_tokens(vocabulary_.added)),
        is_special_(vocabulary_.tokens.size()) {
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const std::string_view token = vocabulary_.tokens[i];
      const auto id = static_cast<TokenId>(i);
      if (token.empty()) continue;
      beginnings_.insert(token, id);
      longest_ = std::max(longest_, token.size());
      if (token.starts_with(vocabulary_.continuation) && token.size() > vocabulary_.continuation.size())
        continuations_.insert(token.substr(vocabulary_.continuation.size()), id);
    }
    special_.unknown = vocabulary_.unknown;
    for (const AddedToken& token : vocabulary_.added)
      is_special_[static_cast<std::size_t>(token.id)] = token.special;
  }

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    require_utf8(text);
    const auto use_word = [&](std::string_view word) { encode_word(word, ids); };
    split_at_tokens(literal_, text, ids, [&](std::string_view part) {
      const std::string normal = normalizer_.normalize(part);
      split_at_tokens(normalized_, normal, ids,
                      [&](std::string_view plain) { for_each_word(table_, plain, use_word); });
    });
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    bool first = true;
    for (const TokenId id : ids) {
      if (id < 0 || id >= vocabulary_size())
        throw input_error({}, format("token {} is outside of the vocabulary of {}", id, vocabulary_size()));
      std::string_view token = vocabulary_.tokens[static_cast<std::size_t>(id)];
      if (!first) {
        if (token.starts_with(vocabulary_.continuation)) {
          token.remove_prefix(vocabulary_.continuation.size());
        } else if (token.find_first_of(".,!?") != 0) {
          text += ' ';
        }
      }
      text += token;
      first = false;
    }
    return text;
  }

  std::int64_t vocabulary_size() const override {
    return static_cast<std::int64_t>(vocabulary_.tokens.size());
  }
  const SpecialTokens& special_tokens() const override { return special_; }
  bool is_special(TokenId id) const override {
    return id >= 0 && id < vocabulary_size() && is_special_[static_cast<std::size_t>(id)];
  }
  std::vector<std::pair<std::string, std::string>> files() const override {
    return wordpiece_files(vocabulary_);
  }

 private:
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const {
    if (word.size() > static_cast<std::size_t>(vocabulary_.maximum_characters) &&
        count_characters(word) > static_cast<std::size_t>(vocabulary_.maximum_characters)) {
      ids.push_back(vocabulary_.unknown);
      return;
    }
    const std::size_t before = ids.size();
    const TokenTable* table = &beginnings_;
    while (!word.empty()) {
      std::size_t length = std::min(word.size(), longest_);
      TokenId id = TokenTable::kNone;
      for (; length > 0; --length) {
        id = table->find(word.substr(0, length));
        if (id != TokenTable::kNone) break;
      }
      if (length == 0) {
        ids.resize(before);
        ids.push_back(vocabulary_.unknown);
        return;
      }
      ids.push_back(id);
      word.remove_prefix(length);
      table = &continuations_;
    }
  }

  WordPieceVocabulary vocabulary_;
  const CharacterTable& table_;
  BertNormalizer normalizer_;
  AddedTokenFinder literal_;
  AddedTokenFinder normalized_;
  TokenTable beginnings_;
  TokenTable continuations_;
  std::size_t longest_ = 0;  // bytes of the longest token
  SpecialTokens special_;
  std::vector<bool> is_special_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceVocabulary vocabulary) {
  return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
}

}  // namespace nadi::inline files
