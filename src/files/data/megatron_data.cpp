#include "nadi/data/megatron_data.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/data/bert_index.h"
#include "nadi/data/data_path.h"
#include "nadi/data/document_split.h"
#include "nadi/data/megatron_batches.h"
#include "nadi/data/tokenizer_check.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kMostDatasets = std::int64_t{1} << 16;

struct OpenDataset {
  MegatronSource source;
  DocumentSplit split;
  double weight = 0;
};

// Documents of BERT's datasets consist of several sequences; for GPT each sequence counts as one.
std::int64_t documents_of(const IndexedDataset& dataset, bool masked) {
  return masked ? dataset.documents() : dataset.sequences();
}

std::vector<OpenDataset> open_datasets(const std::vector<std::string>& paths, const std::string& split,
                                       bool masked) {
  std::vector<OpenDataset> opened;
  for (const DataPath& path : parse_data_path(paths)) {
    const auto dataset = std::make_shared<const IndexedDataset>(path.prefix);
    if (!path.weight && dataset->tokens() == 0) continue;  // its share is nothing
    opened.push_back({.source = {.dataset = dataset},
                      .split = split_documents(split, documents_of(*dataset, masked)),
                      .weight = path.weight.value_or(static_cast<double>(dataset->tokens()))});
  }
  return opened;
}

std::unique_ptr<MegatronSamples> samples_of(const MegatronDataRequest& request, const OpenDataset& dataset,
                                            const DocumentRange& range, std::string_view split,
                                            std::int64_t samples) {
  if (request.masked)
    return std::make_unique<BertSamples>(dataset.source,
                                         BertIndexOptions{.first = range.first,
                                                          .last = range.last,
                                                          .split = std::string(split),
                                                          .samples = samples,
                                                          .max_length = request.seq_length - kBertAdded,
                                                          .seed = request.seed,
                                                          .folder = request.cache},
                                         *request.tokenizer);
  return std::make_unique<GptSamples>(dataset.source, GptIndexOptions{.first = range.first,
                                                                      .last = range.last,
                                                                      .split = std::string(split),
                                                                      .samples = samples,
                                                                      .seq_length = request.seq_length,
                                                                      .seed = request.seed,
                                                                      .folder = request.cache});
}

// Tokens of the documents that are trained on, each once.
std::int64_t train_tokens(const std::vector<OpenDataset>& datasets, bool masked) {
  std::int64_t tokens = 0;
  for (const OpenDataset& open : datasets) {
    const IndexedDataset& dataset = *open.source.dataset;
    const DocumentRange& range = open.split.train;
    if (range.size() == 0) continue;
    const std::int64_t first = masked ? dataset.first_sequence(range.first) : range.first;
    const std::int64_t last = masked ? dataset.first_sequence(range.last) : range.last;
    for (std::int64_t i = first; i < last; ++i) tokens += dataset.length(i);
  }
  return tokens;
}

// As Megatron counts the samples of so many epochs, in whole batches, and at least one.
std::int64_t samples_of_passes(const MegatronDataRequest& request, const std::vector<OpenDataset>& datasets) {
  const std::int64_t tokens =
      checked_multiply(train_tokens(datasets, request.masked), request.passes, "tokens");
  const std::int64_t samples = std::max<std::int64_t>(tokens - 1, 0) / request.seq_length;
  return std::max(samples / request.batch_size, std::int64_t{1}) * request.batch_size;
}

// One split: which documents of a dataset, what it is called, how many samples in which batches.
struct SplitRequest {
  DocumentRange DocumentSplit::*range;
  std::string_view name;
  std::int64_t samples = 0;
  std::int64_t batch_size = 0;
  bool own_paths = false;  // the datasets are those of validation_path
};

// nullptr when no dataset has documents for the split. Those that have none leave their share to the others.
std::unique_ptr<BatchSource> open_split(const MegatronDataRequest& request,
                                        const std::vector<OpenDataset>& datasets, const SplitRequest& split) {
  std::vector<const OpenDataset*> used;
  double weight = 0;
  for (const OpenDataset& dataset : datasets) {
    if ((dataset.split.*split.range).size() == 0) continue;
    used.push_back(&dataset);
    weight += dataset.weight;
  }
  if (used.empty()) return nullptr;
  // One dataset with a weight is a mixture, too, as for Megatron: the names of index maps depend on it.
  const bool blended =
      (split.own_paths ? request.validation_path : request.data_path).size() > 1 || datasets.size() > 1;
  std::vector<BlendedSamples::Part> parts;
  for (const OpenDataset* dataset : used) {
    const std::int64_t wanted =
        blended ? blend_samples_wanted(dataset->weight / weight, split.samples) : split.samples;
    parts.push_back(
        {.samples = samples_of(request, *dataset, dataset->split.*split.range, split.name, wanted),
         .weight = dataset->weight});
  }
  std::unique_ptr<MegatronSamples> samples =
      blended ? std::make_unique<BlendedSamples>(std::move(parts), split.samples)
              : std::move(parts.front().samples);
  return std::make_unique<MegatronBatches>(
      std::move(samples),
      MegatronBatchOptions{
          .samples = split.samples,
          .seq_length = request.seq_length,
          .batch_size = split.batch_size,
          .padding = request.tokenizer == nullptr ? 0 : padding_of(request.tokenizer->special_tokens())});
}

void check_request(const MegatronDataRequest& request) {
  if (request.train_samples < 0 || request.passes < 1 || request.batch_size < 1)
    throw usage_error(format(
        "training on {} samples, {} passes, in batches of {}: passes and batches must be at least 1, and "
        "samples at least 0",
        request.train_samples, request.passes, request.batch_size));
  const std::int64_t least = request.masked ? kBertAdded + 2 : 1;
  if (request.seq_length < least)
    throw usage_error(format("a sequence length of {} is too short", request.seq_length),
                      format("it takes {} tokens or more", least));
  if (!request.masked) return;
  if (request.tokenizer == nullptr)
    throw usage_error("tokens cannot be masked without a tokenizer", "name a tokenizer");
  check_special_tokens(*request.tokenizer, Objective::kMaskedToken);
}

}  // namespace

MegatronData open_megatron_data(const MegatronDataRequest& request) {
  check_request(request);
  const bool own_validation = !request.validation_path.empty();
  std::vector<OpenDataset> datasets =
      open_datasets(request.data_path, own_validation ? "1,0,0" : request.split, request.masked);
  if (datasets.empty()) throw input_error({.file = request.data_path.front()}, "the datasets have no tokens");
  std::vector<OpenDataset> validation;
  if (own_validation) validation = open_datasets(request.validation_path, "0,1,0", request.masked);
  for (const auto* list : {&datasets, &validation})
    if (static_cast<std::int64_t>(list->size()) > kMostDatasets)
      throw usage_error(format("{} datasets are more than can be mixed: {}", list->size(), kMostDatasets));

  MegatronData data;
  double weight = 0;
  for (const OpenDataset& dataset : datasets) weight += dataset.weight;
  const bool has_limit = request.vocabulary > 0 || request.tokenizer != nullptr;
  const auto limit_tokens = [&](OpenDataset& dataset) {
    const IndexedDataset& tokens = *dataset.source.dataset;
    if (!has_limit)
      data.largest_token =
          std::max<std::int64_t>(data.largest_token, tokens.largest_token(0, tokens.sequences()));
    dataset.source.masked_end = request.masked_end;
    dataset.source.vocabulary = request.vocabulary > 0         ? request.vocabulary
                                : request.tokenizer != nullptr ? request.tokenizer->vocabulary_size()
                                                               : std::numeric_limits<std::int64_t>::max();
  };
  for (OpenDataset& dataset : validation) limit_tokens(dataset);
  for (OpenDataset& dataset : datasets) {
    limit_tokens(dataset);
    const IndexedDataset& tokens = *dataset.source.dataset;
    data.datasets.push_back({.prefix = tokens.prefix(),
                             .share = dataset.weight / weight,
                             .documents = documents_of(tokens, request.masked),
                             .tokens = tokens.tokens()});
  }
  data.train = open_split(
      request, datasets,
      {.range = &DocumentSplit::train,
       .name = kTrainSplit,
       .samples = request.train_samples > 0 ? request.train_samples : samples_of_passes(request, datasets),
       .batch_size = request.batch_size});
  if (data.train == nullptr)
    throw input_error({.file = request.data_path.front()},
                      format("the split {} leaves no documents for training", request.split));
  if (request.validation_samples > 0)
    data.validation = open_split(
        request, own_validation ? validation : datasets,
        {.range = &DocumentSplit::validation,
         .name = kValidationSplit,
         .samples = request.validation_samples,
         .batch_size = request.validation_batch_size > 0 ? request.validation_batch_size : request.batch_size,
         .own_paths = own_validation});
  return data;
}

}  // namespace nadi::inline files
