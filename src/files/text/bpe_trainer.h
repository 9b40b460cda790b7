// Makes a tokenizer like GPT-2's from text: its split into pieces, the 256 bytes, and merges learnt from how
// often bytes follow one another.
//
//   const auto tokenizer = train_bpe(text_of(documents), {.vocabulary_size = 8192});
//
// Numbers as in GPT-2: 0 to 255 the bytes, in GPT-2's order; then the merges, in the order in which they were
// learnt; <|endoftext|> last. Where it stands in the text it is left out. The same text gives the same
// tokenizer, in whatever order the documents come.
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/text/text_source.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct BpeTrainingOptions {
  std::int64_t vocabulary_size = 8192;
  std::int64_t minimum_count = 2;  // of a pair, to be merged
};

// Too little text for the vocabulary gives a smaller one: see vocabulary_size() of the result. Error (usage):
// a vocabulary of less than 257 or more than 2^21, a minimum below 1; (input): text that is not UTF-8.
std::unique_ptr<Tokenizer> train_bpe(const TextSource& source, const BpeTrainingOptions& options = {});

}  // namespace nadi::inline files
