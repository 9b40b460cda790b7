#include "nadi/data/gpt_index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/index_map.h"
#include "nadi/data/numpy_random.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostUint32 = std::numeric_limits<std::uint32_t>::max();

// Where a sample begins.
struct Start {
  std::int64_t place = 0;   // in the order of the documents
  std::int64_t offset = 0;  // token of that document
  bool operator==(const Start&) const = default;
};

// Walks over the documents in their order, from the start of one sample to that of the next, s tokens on.
class SampleWalk {
 public:
  SampleWalk(const IndexedDataset& dataset, std::int64_t seq_length)
      : dataset_(dataset), seq_length_(seq_length) {}

  const Start& start() const { return start_; }

  // `document_at(place)` is a sequence of the dataset. There must be another s tokens and one.
  template <typename DocumentAt>
  void advance(const DocumentAt& document_at) {
    // The token that the next sample begins with is the last one of this sample: it is in the document whose
    // tokens reach it, not at the beginning of the one behind.
    std::int64_t wanted = seq_length_ + 1;
    for (;;) {
      const std::int64_t left = dataset_.length(document_at(start_.place)) - start_.offset;
      if (wanted <= left) break;
      wanted -= left;
      start_ = {.place = start_.place + 1, .offset = 0};
    }
    start_.offset += wanted - 1;
  }

 private:
  const IndexedDataset& dataset_;
  std::int64_t seq_length_;
  Start start_;
};

// The sequences of the split, early epochs shuffled together, then the late one.
std::vector<std::int32_t> shuffled_documents(const GptIndexFigures& figures, const GptIndexOptions& options,
                                             NumpyRandom& random) {
  const std::int64_t documents = options.last - options.first;
  std::vector<std::int32_t> order(static_cast<std::size_t>(documents * figures.epochs));
  const auto whole = std::span(order);
  for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(documents)) {
    const auto epoch = whole.subspan(begin, static_cast<std::size_t>(documents));
    std::iota(epoch.begin(), epoch.end(), static_cast<std::int32_t>(options.first));
  }
  const auto early = static_cast<std::size_t>(documents * figures.early_epochs);
  random.shuffle(whole.first(early));
  random.shuffle(whole.subspan(early));
  return order;
}

std::vector<std::uint32_t> shuffled_samples(const GptIndexFigures& figures, NumpyRandom& random) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(figures.samples));
  std::iota(order.begin(), order.end(), 0U);
  const auto early = static_cast<std::size_t>(figures.early_samples);
  random.shuffle(std::span(order).first(early));
  random.shuffle(std::span(order).subspan(early));
  return order;
}

// The files, after they were written if one of them is missing.
GptIndexPaths present_paths(const IndexedDataset& dataset, const GptIndexOptions& options) {
  const GptIndexPaths paths = gpt_index_paths(dataset, options);
  for (const std::filesystem::path& path : paths.all()) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    with_cache_hint([&] { write_gpt_index(dataset, options, Overwrite::kAllow); });
    break;
  }
  return paths;
}

}  // namespace

GptIndexFigures gpt_index_figures(const IndexedDataset& dataset, const GptIndexOptions& options) {
  check(options.first >= 0 && options.first <= options.last && options.last <= dataset.sequences(),
        "a split outside of its dataset");
  if (options.samples < 1)
    throw usage_error(format("an index of {} samples: there must be at least 1", options.samples));
  if (options.seq_length < 1 || options.seq_length >= kMostInt32)
    throw usage_error(
        format("a sequence length of {}: it must be 1 to {}", options.seq_length, kMostInt32 - 1));
  check_index_map_seed(options.seed);
  GptIndexFigures figures;
  for (std::int64_t i = options.first; i < options.last; ++i) figures.tokens += dataset.length(i);
  const std::int64_t documents = options.last - options.first;
  if (figures.tokens == 0)
    throw input_error({.file = dataset.prefix()},
                      format("the {} documents of split '{}' have no tokens", documents, options.split),
                      "give this part of the split more documents");
  const std::int64_t wanted = checked_multiply(options.samples, options.seq_length, "tokens of an index");
  figures.epochs = wanted / figures.tokens + 1;  // ceil((n * s + 1) / T)
  const auto samples_of = [&](std::int64_t epochs) {
    return (checked_multiply(epochs, figures.tokens, "tokens of an index") - 1) / options.seq_length;
  };
  figures.samples = samples_of(figures.epochs);
  figures.early_epochs = figures.epochs;
  figures.early_samples = figures.samples;
  if (figures.epochs > 1) {
    constexpr double kMostOfAnEpoch = 0.80;
    const std::int64_t before = samples_of(figures.epochs - 1);
    const auto most = static_cast<std::int64_t>(kMostOfAnEpoch * static_cast<double>(samples_of(1)));
    if (options.samples - before < most) {
      figures.early_epochs = figures.epochs - 1;
      figures.early_samples = before;
    }
  }
  if (checked_multiply(figures.epochs, documents, "documents of an index") > kMostInt32 ||
      dataset.sequences() > kMostInt32 || figures.samples >= kMostUint32)
    throw Error(ErrorKind::kInfeasible, {.file = dataset.prefix()},
                format("{} samples in {} epochs of {} documents are more than an index map can number",
                       figures.samples, figures.epochs, documents));
  return figures;
}

GptIndexPaths gpt_index_paths(const IndexedDataset& dataset, const GptIndexOptions& options) {
  const auto path = [&](std::string_view kind) {
    return index_map_path(dataset, options.folder,
                          format("{}_indexmap_{}ns_{}sl_{}s_{}_idx.npy", options.split, options.samples,
                                 options.seq_length, options.seed, kind));
  };
  return {.documents = path("doc"), .samples = path("sample"), .shuffle = path("shuffle")};
}

void write_gpt_index(const IndexedDataset& dataset, const GptIndexOptions& options, Overwrite overwrite) {
  const GptIndexFigures figures = gpt_index_figures(dataset, options);
  const GptIndexPaths paths = gpt_index_paths(dataset, options);
  NumpyRandom random(static_cast<std::uint32_t>(options.seed));
  const std::vector<std::int32_t> documents = shuffled_documents(figures, options, random);

  NpyWriter documents_file(paths.documents, NpyType::kI32, {static_cast<std::int64_t>(documents.size())},
                           overwrite);
  documents_file.append(std::span(documents));

  NpyWriter samples_file(paths.samples, NpyType::kI32, {figures.samples + 1, 2}, overwrite);
  SampleWalk walk(dataset, options.seq_length);
  for (std::int64_t i = 0; i <= figures.samples; ++i) {
    if (i > 0) walk.advance([&](std::int64_t place) { return documents[static_cast<std::size_t>(place)]; });
    const std::array row{static_cast<std::int32_t>(walk.start().place),
                         static_cast<std::int32_t>(walk.start().offset)};
    samples_file.append(std::span<const std::int32_t>(row));
  }

  const std::vector<std::uint32_t> order = shuffled_samples(figures, random);
  NpyWriter shuffle_file(paths.shuffle, NpyType::kU32, {figures.samples}, overwrite);
  shuffle_file.append(std::span(order));

  NpyWriter::commit_together(std::array<NpyWriter*, 3>{&documents_file, &samples_file, &shuffle_file});
}

GptIndex::GptIndex(const IndexedDataset& dataset, const GptIndexOptions& options)
    : GptIndex(dataset, options, present_paths(dataset, options)) {}

GptIndex::GptIndex(const IndexedDataset& dataset, const GptIndexOptions& options, const GptIndexPaths& paths)
    : dataset_(&dataset),
      figures_(gpt_index_figures(dataset, options)),
      seq_length_(options.seq_length),
      documents_(paths.documents),
      samples_(paths.samples),
      shuffle_(paths.shuffle) {
  check_documents(options);
  check_samples();
  check_shuffle();
}

void GptIndex::check_documents(const GptIndexOptions& options) const {
  const std::int64_t documents = options.last - options.first;
  documents_.expect(NpyType::kI32, {documents * figures_.epochs}, kOtherIndexHint);
  std::vector<std::int32_t> times(static_cast<std::size_t>(documents));
  for (std::int64_t i = 0; i < documents_.elements(); ++i) {
    const std::int64_t document = documents_.at<std::int32_t>(i);
    if (document < options.first || document >= options.last)
      throw input_error(documents_.place_of(i),
                        format("document {} is not among those of split '{}', {} to {}", document,
                               options.split, options.first, options.last - 1),
                        kOtherIndexHint);
    if (++times[static_cast<std::size_t>(document - options.first)] > figures_.epochs)
      throw input_error(
          documents_.place_of(i),
          format("document {} comes more than {} times, once per epoch", document, figures_.epochs),
          kOtherIndexHint);
  }
}

void GptIndex::check_samples() const {
  samples_.expect(NpyType::kI32, {figures_.samples + 1, 2}, kOtherIndexHint);
  SampleWalk walk(*dataset_, seq_length_);
  for (std::int64_t i = 0; i <= figures_.samples; ++i) {
    if (i > 0) walk.advance([&](std::int64_t place) { return documents_.at<std::int32_t>(place); });
    const Start there{.place = samples_.at<std::int32_t>(2 * i),
                      .offset = samples_.at<std::int32_t>(2 * i + 1)};
    if (there == walk.start()) continue;
    throw input_error(
        samples_.place_of(2 * i),
        format("sample {} begins at ({}, {}), not at ({}, {}), where {} tokens per sample lead", i,
               there.place, there.offset, walk.start().place, walk.start().offset, seq_length_),
        kOtherIndexHint);
  }
}

void GptIndex::check_shuffle() const {
  shuffle_.expect(NpyType::kU32, {figures_.samples}, kOtherIndexHint);
  std::vector<bool> seen(static_cast<std::size_t>(figures_.samples));
  for (std::int64_t i = 0; i < figures_.samples; ++i) {
    const std::int64_t sample = shuffle_.at<std::uint32_t>(i);
    if (sample >= figures_.samples)
      throw input_error(shuffle_.place_of(i),
                        format("there is no sample {} among {}", sample, figures_.samples), kOtherIndexHint);
    if (seen[static_cast<std::size_t>(sample)])
      throw input_error(shuffle_.place_of(i), format("sample {} comes twice", sample), kOtherIndexHint);
    seen[static_cast<std::size_t>(sample)] = true;
  }
}

void GptIndex::for_each_piece(std::int64_t number, const std::function<void(const Piece&)>& use) const {
  check(number >= 0 && number < figures_.samples, "a sample outside of its index");
  const std::int64_t sample = shuffle_.at<std::uint32_t>(number);
  Start start{.place = samples_.at<std::int32_t>(2 * sample),
              .offset = samples_.at<std::int32_t>(2 * sample + 1)};
  for (std::int64_t wanted = seq_length_ + 1; wanted > 0;) {
    const std::int64_t sequence = documents_.at<std::int32_t>(start.place);
    const std::int64_t length = std::min(wanted, dataset_->length(sequence) - start.offset);
    use({.sequence = sequence, .offset = start.offset, .length = length});
    wanted -= length;
    start = {.place = start.place + 1, .offset = 0};
  }
}

void GptIndex::read(std::int64_t number, std::span<TokenId> out) const {
  check(static_cast<std::int64_t>(out.size()) == seq_length_ + 1, "room for a sample and its next token");
  std::size_t filled = 0;
  for_each_piece(number, [&](const Piece& piece) {
    const auto length = static_cast<std::size_t>(piece.length);
    dataset_->read(piece.sequence, piece.offset, out.subspan(filled, length));
    filled += length;
  });
}

Place GptIndex::place_of(std::int64_t number, std::int64_t position) const {
  Place place;
  std::int64_t before = 0;
  for_each_piece(number, [&](const Piece& piece) {
    if (position >= before && position < before + piece.length)
      place = dataset_->place_of(piece.sequence, piece.offset + position - before);
    before += piece.length;
  });
  return place;
}

}  // namespace nadi::inline files
