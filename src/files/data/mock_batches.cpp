#include "nadi/data/mock_batches.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

constexpr float kPredictedShare = 0.15F;  // of BERT's tokens

RandomKey mock_key(std::uint64_t seed, std::int64_t epoch, const char* site) {
  return {.seed = seed, .step = static_cast<std::uint64_t>(epoch), .site = site_of(site)};
}

}  // namespace

MockBatches::MockBatches(const MockBatchOptions& options)
    : BatchSource({.samples = options.samples,
                   .seq_length = options.seq_length,
                   .batch_size = options.batch_size,
                   .padding = 0}),
      options_(options) {
  check(options.vocabulary > 0, "random tokens of no vocabulary");
}

std::int64_t MockBatches::sample_at(std::int64_t /*epoch*/, std::int64_t place) {
  return place;
}

// Places of a sample are one more than those of its row: the last target is a token, too.
std::int32_t MockBatches::token(std::int64_t epoch, std::int64_t sample, std::int64_t place) const {
  const auto number = static_cast<std::uint64_t>(sample * (seq_length() + 1) + place);
  const std::uint64_t word = random_word(mock_key(options_.seed, epoch, "mock.token"), number);
  return static_cast<std::int32_t>((word * static_cast<std::uint64_t>(options_.vocabulary)) >> 32U);
}

std::int64_t MockBatches::fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) {
  const std::int64_t tokens = seq_length();
  row.length = static_cast<std::int32_t>(tokens);
  for (std::int64_t t = 0; t < tokens; ++t)
    row.input_ids[static_cast<std::size_t>(t)] = token(epoch, sample, t);
  if (options_.masked) return hide_tokens(epoch, sample, row);
  for (std::int64_t t = 0; t < tokens; ++t)
    row.targets[static_cast<std::size_t>(t)] = token(epoch, sample, t + 1);
  return tokens;
}

std::int64_t MockBatches::hide_tokens(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const {
  const std::int64_t tokens = seq_length();
  std::fill(row.token_type_ids.begin() + tokens / 2, row.token_type_ids.end(), 1);
  const RandomKey choice = mock_key(options_.seed, epoch, "mock.choice");
  const auto first = static_cast<std::uint64_t>(sample * tokens);
  const auto always = static_cast<std::int64_t>(random_word(mock_key(options_.seed, epoch, "mock.always"),
                                                            static_cast<std::uint64_t>(sample))) %
                      tokens;
  std::int64_t chosen = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto place = static_cast<std::size_t>(t);
    row.targets[place] = static_cast<std::int32_t>(kIgnoredTarget);
    if (t != always && random_uniform(choice, first + static_cast<std::uint64_t>(t)) >= kPredictedShare)
      continue;
    row.targets[place] = row.input_ids[place];
    // The place behind the row's last is drawn for nothing else.
    row.input_ids[place] = static_cast<std::int32_t>(
        (row.input_ids[place] + 1 + token(epoch, sample, tokens)) % options_.vocabulary);
    ++chosen;
  }
  return chosen;
}

}  // namespace nadi::inline files
