#include "nadi/data/megatron_samples.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

// Where the first token is that the vocabulary does not have; ids.size() when there is none.
std::size_t find_unknown(std::span<const TokenId> ids, std::int64_t vocabulary) {
  const auto found = std::find_if(ids.begin(), ids.end(), [&](TokenId id) { return id >= vocabulary; });
  return static_cast<std::size_t>(found - ids.begin());
}

Error unknown_token(const Place& place, TokenId id, std::int64_t vocabulary) {
  return input_error(place, format("token {} does not exist: the vocabulary has {}", id, vocabulary),
                     "use the tokenizer and the model that the dataset was made for");
}

// How much of the first of two parts is kept when both have to fit: the longer one is cut, both when each is
// longer than half.
std::int64_t room_of_first(std::int64_t first, std::int64_t second, std::int64_t room) {
  if (first + second <= room) return first;
  const std::int64_t half = room / 2;
  if (first <= half) return first;
  return second <= room - half ? room - second : half;
}

}  // namespace

GptSamples::GptSamples(const MegatronSource& source, const GptIndexOptions& options)
    : source_(source), index_(*source_.dataset, options) {}

std::int64_t GptSamples::fill(std::int64_t /*epoch*/, std::int64_t sample, const BatchRow& row) const {
  check(static_cast<std::int64_t>(row.input_ids.size()) == index_.seq_length(),
        "a row of another length than the index's");
  std::vector<TokenId> ids(row.input_ids.size() + 1);
  index_.read(sample, ids);
  if (const std::size_t bad = find_unknown(ids, source_.vocabulary); bad < ids.size())
    throw unknown_token(index_.place_of(sample, static_cast<std::int64_t>(bad)), ids[bad],
                        source_.vocabulary);
  std::copy(ids.begin(), ids.end() - 1, row.input_ids.begin());
  std::copy(ids.begin() + 1, ids.end(), row.targets.begin());
  row.length = static_cast<std::int32_t>(row.input_ids.size());
  std::int64_t counted = index_.seq_length();
  for (std::size_t i = 0; source_.masked_end && i < row.input_ids.size(); ++i) {
    if (row.input_ids[i] != *source_.masked_end) continue;
    row.targets[i] = static_cast<std::int32_t>(kIgnoredTarget);
    --counted;
  }
  return counted;
}

BertSamples::BertSamples(const MegatronSource& source, const BertIndexOptions& options,
                         const Tokenizer& tokenizer)
    : source_(source),
      index_(*source_.dataset, options),
      seed_(options.seed),
      tokenizer_(&tokenizer),
      masking_(tokenizer) {
  const IndexedDataset& dataset = *source_.dataset;
  source_.vocabulary = std::min(source_.vocabulary, tokenizer.vocabulary_size());
  for (std::int64_t i = dataset.first_sequence(options.first); i < dataset.first_sequence(options.last); ++i)
    tokens_ += dataset.length(i);
}

void BertSamples::append(std::int64_t first, std::int64_t last, std::int64_t room,
                         std::vector<TokenId>& ids) const {
  for (std::int64_t i = first; i < last && room > 0; ++i) {
    const std::int64_t length = std::min(room, source_.dataset->length(i));
    const std::size_t before = ids.size();
    ids.resize(before + static_cast<std::size_t>(length));
    const auto sentence = std::span(ids).subspan(before);
    source_.dataset->read(i, 0, sentence);
    if (const std::size_t bad = find_unknown(sentence, source_.vocabulary); bad < sentence.size())
      throw unknown_token(source_.dataset->place_of(i, static_cast<std::int64_t>(bad)), sentence[bad],
                          source_.vocabulary);
    room -= length;
  }
}

std::int64_t BertSamples::fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const {
  const BertIndex::Span span = index_.span_of(sample);
  const RandomKey key{
      .seed = seed_, .step = static_cast<std::uint64_t>(epoch), .site = site_of("data.megatron.cut")};
  const double draw = random_uniform_double(key, static_cast<std::uint64_t>(sample));
  const std::int64_t cut =
      span.first + 1 + static_cast<std::int64_t>(draw * static_cast<double>(span.last - span.first - 1));
  const auto length_of = [&](std::int64_t first, std::int64_t last) {
    std::int64_t length = 0;
    for (std::int64_t i = first; i < last; ++i) length += source_.dataset->length(i);
    return length;
  };
  const std::int64_t first_length =
      room_of_first(length_of(span.first, cut), length_of(cut, span.last), span.length);

  const SpecialTokens& special = tokenizer_->special_tokens();
  std::vector<TokenId> ids{*special.classify};
  append(span.first, cut, first_length, ids);
  ids.push_back(*special.separate);
  const std::size_t first_part = ids.size();
  append(cut, span.last, span.length - first_length, ids);
  ids.push_back(*special.separate);

  check(ids.size() <= row.input_ids.size(), "a sample longer than its row");
  std::copy(ids.begin(), ids.end(), row.input_ids.begin());
  std::fill(row.token_type_ids.begin() + static_cast<std::ptrdiff_t>(first_part),
            row.token_type_ids.begin() + static_cast<std::ptrdiff_t>(ids.size()), 1);
  row.length = static_cast<std::int32_t>(ids.size());
  if (std::all_of(ids.begin(), ids.end(), [&](TokenId id) { return tokenizer_->is_special(id); })) return 0;
  return masking_.apply({seed_, epoch, sample}, row.input_ids.first(ids.size()),
                        row.targets.first(ids.size()));
}

BlendedSamples::BlendedSamples(std::vector<Part> parts, std::int64_t samples) : parts_(std::move(parts)) {
  std::vector<double> weights;
  for (const Part& part : parts_) weights.push_back(part.weight);
  blend_ = blend_samples(weights, samples);
}

std::int64_t BlendedSamples::tokens() const {
  std::int64_t tokens = 0;
  for (const Part& part : parts_) tokens += part.samples->tokens();
  return tokens;
}

std::int64_t BlendedSamples::fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const {
  const auto index = static_cast<std::size_t>(sample);
  const MegatronSamples& part = *parts_[blend_.dataset[index]].samples;
  return part.fill(epoch, blend_.sample[index] % part.size(), row);
}

}  // namespace nadi::inline files
