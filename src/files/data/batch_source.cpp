#include "nadi/data/batch_source.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {

BatchSource::BatchSource(const Shape& shape) : shape_(shape) {
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();
  check(shape.samples > 0 && shape.seq_length > 0, "a source of batches without samples");
  if (shape.batch_size < 1) throw usage_error(format("a batch size of {} is not positive", shape.batch_size));
  if (shape.batch_size > kMostElements / shape.seq_length)
    throw usage_error(
        format("a batch of {} samples with {} tokens each is too large", shape.batch_size, shape.seq_length));
}

std::int64_t BatchSource::batches_per_epoch() const {
  return divided_up(samples(), batch_size());
}

RowRange BatchSource::range_of(const DataPosition& position) const {
  check(contains(position), "a position is outside of the data");
  return {.epoch = position.epoch, .first = position.batch * batch_size(), .rows = batch_size()};
}

Batch BatchSource::batch(const DataPosition& position, const Part& part) {
  return batch_of(range_of(position), part);
}

Batch BatchSource::batch_of(const RowRange& range, const Part& part) {
  const std::vector<std::int64_t> numbers = samples_in(range, part);
  const auto rows = static_cast<std::size_t>(rows_of(range, part));
  const auto width = static_cast<std::size_t>(seq_length());
  constexpr auto kNoTarget = static_cast<std::int32_t>(kIgnoredTarget);
  Batch batch{.input_ids = std::vector<std::int32_t>(rows * width, shape_.padding),
              .token_type_ids = std::vector<std::int32_t>(rows * width, 0),
              .targets = std::vector<std::int32_t>(rows * width, kNoTarget),
              .lengths = std::vector<std::int32_t>(rows, 1),
              .samples = static_cast<std::int64_t>(numbers.size())};
  for (std::size_t row = 0; row < numbers.size(); ++row)
    batch.tokens += fill_row(range.epoch, numbers[row],
                             {.input_ids = std::span(batch.input_ids).subspan(row * width, width),
                              .token_type_ids = std::span(batch.token_type_ids).subspan(row * width, width),
                              .targets = std::span(batch.targets).subspan(row * width, width),
                              .length = batch.lengths[row]});
  return batch;
}

std::vector<std::int64_t> BatchSource::samples_of(const DataPosition& position, const Part& part) {
  return samples_in(range_of(position), part);
}

std::vector<std::int64_t> BatchSource::samples_in(const RowRange& range, const Part& part) {
  check(range.epoch >= 0 && range.first >= 0 && range.first < samples(), "rows are outside of the data");
  const std::int64_t rows = rows_of(range, part);
  std::vector<std::int64_t> numbers;
  const std::int64_t first = range.first + part.rank * rows;
  for (std::int64_t place = first; place < std::min(first + rows, samples()); ++place)
    numbers.push_back(sample_at(range.epoch, place));
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
             position.batch, position.epoch, samples(), batches_per_epoch(), batch_size()),
      "continue with the data and the batch size that the run was started with");
}

bool BatchSource::contains(const DataPosition& position) const {
  return position.epoch >= 0 && position.batch >= 0 && position.batch < batches_per_epoch();
}

std::int64_t BatchSource::rows_of(const RowRange& range, const Part& part) {
  check(part.ranks > 0 && part.rank >= 0 && part.rank < part.ranks, "a part is outside of its batch");
  if (range.rows % part.ranks != 0)
    throw usage_error(
        format("a batch of {} samples cannot be dealt out evenly to {} ranks", range.rows, part.ranks),
        "choose a batch size that is a multiple of ranks times micro-batches");
  return range.rows / part.ranks;
}

TokenId padding_of(const SpecialTokens& special) {
  if (special.padding) return *special.padding;
  return special.end.value_or(0);
}

}  // namespace nadi::inline files
