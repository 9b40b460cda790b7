// BERT's tokenizer: text is normalized and cut into words (bert_normalizer.h); each word is cut into the
// longest tokens there are, from left to right.
//
//   "unaffable" -> "una" "##ffa" "##ble"
//
// A word that cannot be cut so, or is too long, becomes one unknown token. So decode() gives back words with
// single spaces between them, in lower case if the tokenizer is uncased, and not the text; like the originals
// it leaves out the space before . , ! and ?.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nadi/text/added_tokens.h"
#include "nadi/text/bert_normalizer.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// What such a tokenizer is made of. Whoever fills it has checked that no two tokens are the same and that all
// numbers are within `tokens`.
struct WordPieceVocabulary {
  std::vector<std::string> tokens = {};  // by number
  std::vector<AddedToken> added = {};
  TokenId unknown = 0;
  std::string continuation = "##";        // in front of tokens that do not begin a word; not empty
  std::int64_t maximum_characters = 100;  // longer words are unknown
  BertNormalizerOptions normalizer = {};
};

// Error (environment) in a build without Unicode tables.
std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceVocabulary vocabulary);

}  // namespace nadi::inline files
