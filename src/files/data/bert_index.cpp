#include "nadi/data/bert_index.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/index_map.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kLongSentence = 512;  // tokens; a document with a longer one is left out
constexpr std::int64_t kLeastSentences = 2;  // of a sample: it has two texts
constexpr std::int64_t kMostMapValue = std::numeric_limits<std::uint32_t>::max();

using Row = std::array<std::uint32_t, 3>;

void check_options(const IndexedDataset& dataset, const BertIndexOptions& options) {
  check(options.first >= 0 && options.first <= options.last && options.last <= dataset.documents(),
        "a split outside of its dataset");
  if (options.samples < 1)
    throw usage_error(format("an index of {} samples: there must be at least 1", options.samples));
  if (options.max_length < kLeastSentences || options.max_length > kMostMapValue)
    throw usage_error(format("samples of {} tokens: a sample has at least {}, one for each sentence",
                             options.max_length, kLeastSentences));
  if (!(options.short_probability >= 0 && options.short_probability <= 1))
    throw usage_error(
        format("the probability of short samples is {}, not from 0 to 1", options.short_probability));
  check_index_map_seed(options.seed);
  if (dataset.sequences() > kMostMapValue)
    throw Error(ErrorKind::kInfeasible, {.file = dataset.prefix()},
                format("{} sentences are more than an index map can number", dataset.sequences()));
}

// Target lengths: max_length, or with the probability of short samples, rounded to one in a whole number,
// something from 2 to max_length.
class TargetLengths {
 public:
  explicit TargetLengths(const BertIndexOptions& options)
      : generator_(static_cast<std::uint32_t>(options.seed)),
        longest_(static_cast<std::uint32_t>(options.max_length)),
        one_in_(options.short_probability > 0
                    ? static_cast<std::uint32_t>(
                          std::min<long long>(std::llround(1 / options.short_probability), kMostMapValue))
                    : 0) {}

  std::uint32_t next() {
    if (one_in_ == 0) return longest_;
    const auto draw = static_cast<std::uint32_t>(generator_());
    return draw % one_in_ == 0 ? 2 + draw % (longest_ - 1) : longest_;
  }

 private:
  std::mt19937 generator_;
  std::uint32_t longest_;
  std::uint32_t one_in_;
};

bool gives_samples(const IndexedDataset& dataset, std::int64_t document) {
  const std::int64_t first = dataset.first_sequence(document), last = dataset.first_sequence(document + 1);
  if (last - first < kLeastSentences) return false;
  for (std::int64_t i = first; i < last; ++i) {
    if (dataset.length(i) > kLongSentence) return false;
  }
  return true;
}

// A run ends when it is long enough and leaves enough sentences for another one, or with the document.
void add_document(const IndexedDataset& dataset, std::int64_t document, TargetLengths& targets,
                  std::vector<Row>& rows) {
  const std::int64_t last = dataset.first_sequence(document + 1);
  std::int64_t begin = dataset.first_sequence(document);
  std::int64_t length = 0;
  std::uint32_t target = targets.next();
  for (std::int64_t i = begin; i < last; ++i) {
    length += dataset.length(i);
    const std::int64_t end = i + 1;
    const bool full = length >= target && last - end >= kLeastSentences && end - begin >= kLeastSentences;
    if (!full && end != last) continue;
    rows.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), target});
    begin = end;
    length = 0;
    target = targets.next();
  }
}

void shuffle(std::vector<Row>& rows, std::uint64_t seed) {
  std::mt19937_64 generator(seed + 1);
  for (std::size_t i = rows.size(); i-- > 1;) std::swap(rows[i], rows[generator() % (i + 1)]);
}

std::filesystem::path present_path(const IndexedDataset& dataset, const BertIndexOptions& options) {
  std::filesystem::path path = bert_index_path(dataset, options);
  if (std::error_code error; !std::filesystem::exists(path, error))
    with_cache_hint([&] { write_bert_index(dataset, options, Overwrite::kAllow); });
  return path;
}

}  // namespace

std::filesystem::path bert_index_path(const IndexedDataset& dataset, const BertIndexOptions& options) {
  return index_map_path(dataset, options.folder,
                        format("{}_indexmap_{}mns_{}msl_{:.2f}ssp_{}s.npy", options.split, options.samples,
                               options.max_length, options.short_probability, options.seed));
}

void write_bert_index(const IndexedDataset& dataset, const BertIndexOptions& options, Overwrite overwrite) {
  check_options(dataset, options);
  std::vector<std::int64_t> documents;
  for (std::int64_t d = options.first; d < options.last; ++d) {
    if (gives_samples(dataset, d)) documents.push_back(d);
  }
  if (documents.empty())
    throw input_error(
        {.file = dataset.prefix()},
        format("none of the {} documents of split '{}' has {} sentences or more, all of at most "
               "{} tokens: BERT's samples consist of sentences",
               options.last - options.first, options.split, kLeastSentences, kLongSentence),
        "make the dataset with a sequence for each sentence");
  TargetLengths targets(options);
  std::vector<Row> rows;
  while (static_cast<std::int64_t>(rows.size()) < options.samples) {
    for (const std::int64_t document : documents) add_document(dataset, document, targets, rows);
  }
  shuffle(rows, options.seed);
  NpyWriter file(bert_index_path(dataset, options), NpyType::kU32,
                 {static_cast<std::int64_t>(rows.size()), 3}, overwrite);
  for (const Row& row : rows) file.append(std::span<const std::uint32_t>(row));
  file.commit();
}

BertIndex::BertIndex(const IndexedDataset& dataset, const BertIndexOptions& options)
    : dataset_(&dataset), max_length_(options.max_length), file_(present_path(dataset, options)) {
  check_options(dataset, options);
  check_rows(options);
}

void BertIndex::check_rows(const BertIndexOptions& options) const {
  const NpyShape& shape = file_.shape();
  file_.expect(NpyType::kU32, {shape[0], 3}, kOtherIndexHint);
  if (shape[0] < options.samples)
    throw input_error(file_.place_of(0), format("{} samples, not {} or more", shape[0], options.samples),
                      kOtherIndexHint);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const Span span = span_of(i);
    // The last document that begins at or before the first sentence.
    std::int64_t low = options.first, high = options.last;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (dataset_->first_sequence(middle + 1) <= span.first)
        low = middle + 1;
      else
        high = middle;
    }
    const bool in_document = low < options.last && dataset_->first_sequence(low) <= span.first &&
                             span.last <= dataset_->first_sequence(low + 1);
    if (in_document && span.last - span.first >= kLeastSentences && span.length >= 2 &&
        span.length <= max_length_)
      continue;
    throw input_error(file_.place_of(3 * i),
                      format("sample {}, up to {} tokens of the sentences {} to {}, is no run of two or more "
                             "sentences of a document of split '{}' with at most {} tokens",
                             i, span.length, span.first, span.last - 1, options.split, max_length_),
                      kOtherIndexHint);
  }
}

BertIndex::Span BertIndex::span_of(std::int64_t number) const {
  check(number >= 0 && number < samples(), "a sample outside of its index");
  return {.first = file_.at<std::uint32_t>(3 * number),
          .last = file_.at<std::uint32_t>(3 * number + 1),
          .length = file_.at<std::uint32_t>(3 * number + 2)};
}

}  // namespace nadi::inline files
