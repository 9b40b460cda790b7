// The tokenizers of GPT-2, Llama 3 and Qwen2: text is cut into pieces (splitter.h), and the bytes of each
// piece are merged (bpe_merger.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nadi/text/added_tokens.h"
#include "nadi/text/bpe_merger.h"
#include "nadi/text/splitter.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// What such a tokenizer is made of. Whoever fills it has checked that no two tokens are the same, that all
// numbers are within `tokens`, and that each of the 256 bytes has a token.
struct ByteLevelVocabulary {
  std::vector<std::string> tokens;  // by number, as files have them: bytes in the alphabet of byte_alphabet.h
  std::vector<Merge> merges;
  std::vector<AddedToken> added;
  const Splitter* splitter = nullptr;
  bool composed = false;       // text is composed first (NFC); added tokens are found before that
  bool ignore_merges = false;  // a piece that is a token is that token, whether merging leads to it or not
};

// Error (environment) in a build without Unicode tables.
std::unique_ptr<Tokenizer> make_byte_level_tokenizer(ByteLevelVocabulary vocabulary);

}  // namespace nadi::inline files
