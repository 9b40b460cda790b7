// Questions and their contexts as the tokens of training samples, one sample per question.
//
//   const SampleSet samples = make_samples(squad, tokenizer, {Objective::kNextToken, /*seq_length=*/384});
//   samples.tokens(7)
//
// kNextToken    Question, a space, context. In front the token for the beginning of a text, behind the one
//               for its end, where the tokenizer has them; a single token that serves as both stands at the
//               end only. What does not fit is cut at the end.
// kMaskedToken  [CLS] question [SEP] context [SEP]. The longer of question and context is cut until all
//               fits: nearly always the context.
//
// Question and " " + context are encoded one by one, each context once. The splitting rules of GPT-2 and
// Llama 3 end a piece before a space that a word follows, so this gives the tokens of the joined text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/data/tokenizer_check.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct SquadSet;

struct SampleOptions {
  Objective objective = Objective::kNextToken;
  std::int64_t seq_length = 0;  // the most tokens of a sample, special ones included
};

struct SampleStatistics {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;     // of all samples, special ones included
  std::int64_t longest = 0;    // tokens of a sample before it was cut: a seq_length that would cut none
  std::int64_t truncated = 0;  // samples that were cut
  std::int64_t dropped = 0;    // questions that gave no sample, since it would have nothing to predict

  double mean_length() const;  // tokens per sample
};

// Immutable once made. All tokens in one array: 4 bytes per token and 12 per sample.
class SampleSet {
 public:
  std::int64_t size() const { return statistics_.samples; }
  Objective objective() const { return options_.objective; }
  std::int64_t seq_length() const { return options_.seq_length; }
  const SampleStatistics& statistics() const { return statistics_; }

  // Tokens of a sample, from 1 to seq_length of them.
  std::span<const TokenId> tokens(std::int64_t sample) const;
  // How many of them are of token type 0: [CLS] question [SEP]. The rest is of type 1. All for kNextToken.
  std::int64_t first_part(std::int64_t sample) const {
    return first_parts_[static_cast<std::size_t>(sample)];
  }

 private:
  friend SampleSet make_samples(const SquadSet&, const Tokenizer&, const SampleOptions&);
  explicit SampleSet(const SampleOptions& options) : options_(options) {}

  SampleOptions options_;
  SampleStatistics statistics_;
  std::vector<TokenId> tokens_;
  std::vector<std::int64_t> ends_;  // of each sample in tokens_
  std::vector<std::int32_t> first_parts_;
};

// Error (usage) when seq_length is too short for a sample; Error (input) when the tokenizer lacks a token
// that is needed, or when no question gives a sample.
SampleSet make_samples(const SquadSet& set, const Tokenizer& tokenizer, const SampleOptions& options);

}  // namespace nadi::inline files
