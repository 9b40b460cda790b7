// The text of tokens that come one at a time, given out as soon as it is certain.
//
//   TextStream text(tokenizer, {.stop = "\n\n"});
//   for (...) {
//     print(text.add(token));
//     if (text.stopped()) break;
//   }
//   print(text.finish());
//
// Held back are bytes of a character that is not complete, and what may be the beginning of the text to stop
// at. The parts put together are the text of all tokens, up to where that text begins.
//
// A model may have more tokens than its tokenizer, its table being rounded up or the tokenizer another. Such
// a token is written as its number, "<50261>", and counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nadi/generate/utf8_assembler.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline runs {

struct TextStreamOptions {
  std::string stop = {};               // the text ends before its first occurrence; empty means nowhere
  std::optional<TokenId> before = {};  // the token that the first one follows: the prompt's last
};

class TextStream {
 public:
  // The tokenizer must outlive this.
  explicit TextStream(const Tokenizer& tokenizer, TextStreamOptions options = {});

  // The text that is certain now, and was not before. Nothing after the stop.
  std::string add(TokenId token);
  std::string finish();

  bool stopped() const { return stopped_; }

 private:
  std::string text_of(TokenId token);
  std::string take(std::string text, bool at_end);

  const Tokenizer& tokenizer_;
  std::string stop_;
  std::optional<TokenId> before_;
  Utf8Assembler characters_;
  std::string held_ = {};
  bool stopped_ = false;
};

}  // namespace nadi::inline runs
