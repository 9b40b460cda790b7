// Most words of a language are one token, and most of those are what merging the word's bytes leads to. That
// is found out once per token, at construction; encoding then looks whole pieces up and merges only the rest.
// So there is no cache of words to fill, to share between threads or to keep within bounds.

#include "nadi/text/byte_level_tokenizer.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/byte_alphabet.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/token_table.h"
#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

// What each token stands for in a text.
std::vector<std::string> decoded_tokens(const ByteLevelVocabulary& vocabulary) {
  std::vector<std::string> decoded;
  decoded.reserve(vocabulary.tokens.size());
  for (const std::string& token : vocabulary.tokens)
    decoded.push_back(from_byte_alphabet(token).value_or(token));
  for (const AddedToken& token : vocabulary.added) decoded[static_cast<std::size_t>(token.id)] = token.text;
  return decoded;
}

std::array<TokenId, 256> find_byte_tokens(const std::vector<std::string>& tokens) {
  std::array<TokenId, 256> byte_tokens;
  byte_tokens.fill(TokenTable::kNone);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto bytes = from_byte_alphabet(tokens[id]);
    if (bytes && bytes->size() == 1)
      byte_tokens[static_cast<unsigned char>((*bytes)[0])] = static_cast<TokenId>(id);
  }
  for (const TokenId id : byte_tokens) check(id != TokenTable::kNone, "a byte has no token");
  return byte_tokens;
}

std::vector<bool> special_flags(const ByteLevelVocabulary& vocabulary) {
  std::vector<bool> flags(vocabulary.tokens.size());
  for (const AddedToken& token : vocabulary.added) flags[static_cast<std::size_t>(token.id)] = token.special;
  return flags;
}

class ByteLevelTokenizer final : public Tokenizer {
 public:
  explicit ByteLevelTokenizer(ByteLevelVocabulary vocabulary)
      : table_(character_table()),
        vocabulary_(std::move(vocabulary)),
        decoded_(decoded_tokens(vocabulary_)),
        merger_(find_byte_tokens(vocabulary_.tokens), vocabulary_.merges),
        finder_(vocabulary_.added),
        words_(vocabulary_.tokens.size()),
        special_(named_special_tokens(vocabulary_.added)),
        is_special_(special_flags(vocabulary_)) {
    std::vector<TokenId> ids;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const auto bytes = from_byte_alphabet(vocabulary_.tokens[i]);
      if (!bytes || bytes->empty()) continue;
      const auto id = static_cast<TokenId>(i);
      ids.clear();
      if (!vocabulary_.ignore_merges) merger_.encode(*bytes, ids);
      if (vocabulary_.ignore_merges || (ids.size() == 1 && ids[0] == id)) words_.insert(*bytes, id);
    }
  }

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    require_utf8(text);
    std::size_t from = 0;
    while (const auto match = finder_.find(text, from)) {
      encode_normal(text.substr(from, match->begin - from), ids);
      ids.push_back(match->id);
      from = match->end;
    }
    encode_normal(text.substr(from), ids);
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id < 0 || id >= vocabulary_size())
        throw input_error({}, format("token {} is outside of the vocabulary of {}", id, vocabulary_size()));
      text += decoded_[static_cast<std::size_t>(id)];
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return static_cast<std::int64_t>(decoded_.size()); }
  const SpecialTokens& special_tokens() const override { return special_; }
  bool is_special(TokenId id) const override {
    return id >= 0 && id < vocabulary_size() && is_special_[static_cast<std::size_t>(id)];
  }
  std::vector<std::pair<std::string, std::string>> files() const override {
    return byte_level_files(vocabulary_);
  }

 private:
  void encode_normal(std::string_view text, std::vector<TokenId>& ids) const {
    const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
    if (!vocabulary_.composed || std::ranges::all_of(text, is_ascii)) return encode_plain(text, ids);
    encode_plain(compose(text), ids);
  }

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
      const char* const stop = vocabulary_.splitter->piece_end(table_, at, end);
      const std::string_view piece(at, static_cast<std::size_t>(stop - at));
      const TokenId word = words_.find(piece);
      if (word != TokenTable::kNone) {
        ids.push_back(word);
      } else {
        merger_.encode(piece, ids);
      }
      at = stop;
    }
  }

  const CharacterTable& table_;
  ByteLevelVocabulary vocabulary_;
  std::vector<std::string> decoded_;
  BpeMerger merger_;
  AddedTokenFinder finder_;
  TokenTable words_;
  SpecialTokens special_;
  std::vector<bool> is_special_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_tokenizer(ByteLevelVocabulary vocabulary) {
  return std::make_unique<ByteLevelTokenizer>(std::move(vocabulary));
}

}  // namespace nadi::inline files
