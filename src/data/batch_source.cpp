#include "nadi/data/batch_source.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/data/shuffle.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi {
namespace {

constexpr std::int32_t kNoTarget = static_cast<std::int32_t>(kIgnoredTarget);

TokenId padding_of(const SpecialTokens& special) {
  if (special.padding) return *special.padding;
  return special.end.value_or(0);
}

// targets[t] = ids[t + 1]; the last token has nothing to predict. Returns how many have.
std::int64_t fill_next_tokens(std::span<const TokenId> ids, std::span<std::int32_t> targets) {
  std::copy(ids.begin() + 1, ids.end(), targets.begin());
  targets.back() = kNoTarget;
  return static_cast<std::int64_t>(ids.size()) - 1;
}

}  // namespace

BatchSource::BatchSource(const SampleSet& samples, const Tokenizer& tokenizer, const BatchOptions& options)
    : samples_(&samples), options_(options), padding_(padding_of(tokenizer.special_tokens())) {
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();
  if (options.batch_size < 1)
    throw usage_error(format("a batch size of {} is not positive", options.batch_size));
  if (options.batch_size > kMostElements / samples.seq_length())
    throw usage_error(format("a batch of {} samples with {} tokens each is too large", options.batch_size,
                             samples.seq_length()));
  check(samples.size() <= std::numeric_limits<std::uint32_t>::max(), "more samples than 32 bits can number");
  if (samples.objective() == Objective::kMaskedToken) masking_.emplace(tokenizer);
}

std::int64_t BatchSource::batches_per_epoch() const {
  return (samples() + options_.batch_size - 1) / options_.batch_size;
}

Batch BatchSource::batch(const DataPosition& position, const Part& part) {
  const std::vector<std::int64_t> numbers = samples_of(position, part);
  const auto rows = static_cast<std::size_t>(rows_of(part));
  const std::size_t elements = rows * static_cast<std::size_t>(samples_->seq_length());
  Batch batch{.input_ids = std::vector<std::int32_t>(elements, padding_),
              .token_type_ids = std::vector<std::int32_t>(elements, 0),
              .targets = std::vector<std::int32_t>(elements, kNoTarget),
              .lengths = std::vector<std::int32_t>(rows, 1),
              .samples = static_cast<std::int64_t>(numbers.size())};
  for (std::size_t row = 0; row < numbers.size(); ++row)
    fill_row(numbers[row], position.epoch, static_cast<std::int64_t>(row), batch);
  return batch;
}

std::vector<std::int64_t> BatchSource::samples_of(const DataPosition& position, const Part& part) {
  check(contains(position), "a position is outside of the data");
  const std::int64_t rows = rows_of(part);
  prepare_order(position.epoch);
  std::vector<std::int64_t> numbers;
  const std::int64_t first = position.batch * options_.batch_size + part.rank * rows;
  for (std::int64_t place = first; place < std::min(first + rows, samples()); ++place)
    numbers.push_back(order_[static_cast<std::size_t>(place)]);
  return numbers;
}

DataPosition BatchSource::after(const DataPosition& position) const {
  if (position.batch + 1 < batches_per_epoch()) return {position.epoch, position.batch + 1};
  return {position.epoch + 1, 0};
}

void BatchSource::check_position(const DataPosition& position, const Place& place) const {
  if (contains(position)) return;
  throw input_error(
      place,
      format("batch {} of epoch {} does not exist: an epoch of {} samples has {} batches of {}, from 0 on",
             position.batch, position.epoch, samples(), batches_per_epoch(), options_.batch_size),
      "continue with the data and the batch size that the run was started with");
}

bool BatchSource::contains(const DataPosition& position) const {
  return position.epoch >= 0 && position.batch >= 0 && position.batch < batches_per_epoch();
}

std::int64_t BatchSource::rows_of(const Part& part) const {
  check(part.ranks > 0 && part.rank >= 0 && part.rank < part.ranks, "a part is outside of its batch");
  if (options_.batch_size % part.ranks != 0)
    throw usage_error(format("a batch of {} samples cannot be dealt out evenly to {} ranks",
                             options_.batch_size, part.ranks),
                      "choose a batch size that is a multiple of ranks times micro-batches");
  return options_.batch_size / part.ranks;
}

void BatchSource::fill_row(std::int64_t sample, std::int64_t epoch, std::int64_t row, Batch& batch) const {
  const std::span<const TokenId> tokens = samples_->tokens(sample);
  const auto first = static_cast<std::size_t>(row * samples_->seq_length());
  const auto ids = std::span(batch.input_ids).subspan(first, tokens.size());
  const auto targets = std::span(batch.targets).subspan(first, tokens.size());
  const auto types = std::span(batch.token_type_ids).subspan(first, tokens.size());
  std::copy(tokens.begin(), tokens.end(), ids.begin());
  std::fill(types.begin() + samples_->first_part(sample), types.end(), 1);
  batch.lengths[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(tokens.size());
  batch.tokens += masking_ ? masking_->apply({options_.seed, epoch, sample}, ids, targets)
                           : fill_next_tokens(tokens, targets);
}

void BatchSource::prepare_order(std::int64_t epoch) {
  if (order_epoch_ == epoch || (order_epoch_ && !options_.shuffle)) return;
  const RandomKey key{
      .seed = options_.seed, .step = static_cast<std::uint64_t>(epoch), .site = site_of("data.order")};
  order_ = options_.shuffle ? shuffled_order(samples(), key) : natural_order(samples());
  order_epoch_ = epoch;
}

}  // namespace nadi
