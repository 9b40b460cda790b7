// A tokenizer for tests whose numbers can be followed by hand: a byte is a token, its value is the token's
// number. Special tokens are numbered from 256 on and never come out of a text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

class ByteTokenizer : public Tokenizer {
 public:
  ByteTokenizer(const SpecialTokens& special, std::int64_t vocabulary)
      : special_(special), vocabulary_(vocabulary) {}

  // As GPT-2's: <|endoftext|> 256.
  static ByteTokenizer gpt2() { return {{.end = 256}, 257}; }
  // As Llama's: <|begin_of_text|> 256, <|end_of_text|> 257.
  static ByteTokenizer llama() { return {{.begin = 256, .end = 257}, 258}; }
  // As BERT's: [PAD] 256, [UNK] 257, [CLS] 258, [SEP] 259, [MASK] 260.
  static ByteTokenizer bert() {
    return {{.padding = 256, .unknown = 257, .classify = 258, .separate = 259, .mask = 260}, 261};
  }

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  }
  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) text += static_cast<char>(id);
    return text;
  }
  std::int64_t vocabulary_size() const override { return vocabulary_; }
  const SpecialTokens& special_tokens() const override { return special_; }
  bool is_special(TokenId id) const override { return id >= 256; }
  std::vector<std::pair<std::string, std::string>> files() const override { return {}; }

 private:
  SpecialTokens special_;
  std::int64_t vocabulary_;
};

}  // namespace nadi::inline files
