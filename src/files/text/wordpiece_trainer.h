// Makes a tokenizer like BERT's from text: its normalization and words, the characters, and longer pieces of
// words that occur often.
//
//   const auto tokenizer = train_wordpiece(text_of(documents), {.vocabulary_size = 8192});
//
// Pieces are found as in BPE, by merging the most frequent pair of neighbours within words, which is also
// what Hugging Face's trainer does (the original one, never published, is said to weigh pairs by likelihood).
// Only the pieces are kept; text is then cut into the longest pieces, whatever the merges were.
//
// Numbers: 0 to 4 are [PAD] [UNK] [CLS] [SEP] [MASK]; then single characters, those that begin a word before
// those that continue one (##), each in the order of Unicode; then merges in the order in which they were
// learnt. The same text gives the same tokenizer, in whatever order the documents come.
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/text/bert_normalizer.h"
#include "nadi/text/text_source.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct WordPieceTrainingOptions {
  std::int64_t vocabulary_size = 8192;
  std::int64_t minimum_count = 2;  // of a pair, to be merged
  // Counts single characters, c and ##c counted separately; rarer ones have no token, and words with them are
  // unknown. Fewer when the vocabulary is smaller.
  std::int64_t alphabet_limit = 1000;
  BertNormalizerOptions normalizer = {};
};

// Too little text for the vocabulary gives a smaller one: see vocabulary_size() of the result. Error (usage):
// a vocabulary of less than 6 or more than 2^21, an alphabet or a minimum below 1; (input): text that is not
// UTF-8.
std::unique_ptr<Tokenizer> train_wordpiece(const TextSource& source,
                                           const WordPieceTrainingOptions& options = {});

}  // namespace nadi::inline files
