#include "nadi/data/sample_batches.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/data/shuffle.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

// targets[t] = ids[t + 1]; the last token has nothing to predict. Returns how many have.
std::int64_t fill_next_tokens(std::span<const TokenId> ids, std::span<std::int32_t> targets) {
  std::copy(ids.begin() + 1, ids.end(), targets.begin());
  targets.back() = static_cast<std::int32_t>(kIgnoredTarget);
  return static_cast<std::int64_t>(ids.size()) - 1;
}

}  // namespace

SampleBatches::SampleBatches(const SampleSet& samples, const Tokenizer& tokenizer,
                             const BatchOptions& options)
    : BatchSource({.samples = samples.size(),
                   .seq_length = samples.seq_length(),
                   .batch_size = options.batch_size,
                   .padding = padding_of(tokenizer.special_tokens())}),
      samples_(&samples),
      options_(options) {
  check(samples.size() <= std::numeric_limits<std::uint32_t>::max(), "more samples than 32 bits can number");
  if (samples.objective() == Objective::kMaskedToken) masking_.emplace(tokenizer);
}

std::int64_t SampleBatches::sample_at(std::int64_t epoch, std::int64_t place) {
  if (order_epoch_ != epoch && (options_.shuffle || !order_epoch_)) {
    const RandomKey key{
        .seed = options_.seed, .step = static_cast<std::uint64_t>(epoch), .site = site_of("data.order")};
    order_ = options_.shuffle ? shuffled_order(samples(), key) : natural_order(samples());
    order_epoch_ = epoch;
  }
  return order_[static_cast<std::size_t>(place)];
}

std::int64_t SampleBatches::fill_row(std::int64_t epoch, std::int64_t sample, const BatchRow& row) {
  const std::span<const TokenId> tokens = samples_->tokens(sample);
  const auto ids = row.input_ids.first(tokens.size());
  const auto targets = row.targets.first(tokens.size());
  const auto types = row.token_type_ids.first(tokens.size());
  std::copy(tokens.begin(), tokens.end(), ids.begin());
  std::fill(types.begin() + samples_->first_part(sample), types.end(), 1);
  row.length = static_cast<std::int32_t>(tokens.size());
  return masking_ ? masking_->apply({options_.seed, epoch, sample}, ids, targets)
                  : fill_next_tokens(tokens, targets);
}

}  // namespace nadi::inline files
