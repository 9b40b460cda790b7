#include "nadi/data/write_index_maps.h"

#include "nadi/base/error.h"
#include "nadi/data/bert_index.h"
#include "nadi/data/gpt_index.h"

namespace nadi::inline files {
namespace {

IndexMaps write_gpt_maps(const IndexedDataset& dataset, const DocumentRange& range,
                         const IndexMapOptions& options) {
  const GptIndexOptions index{.first = range.first,
                              .last = range.last,
                              .split = std::string(kDatasetParts.at(options.part).name),
                              .samples = options.samples,
                              .seq_length = options.seq_length,
                              .seed = options.seed,
                              .folder = options.folder};
  const GptIndexFigures figures = gpt_index_figures(dataset, index);
  IndexMaps maps{.dataset = dataset.prefix(),
                 .documents = range.size(),
                 .samples = figures.samples,
                 .epochs = figures.epochs,
                 .files = {}};
  for (const std::filesystem::path& path : gpt_index_paths(dataset, index).all()) {
    if (options.overwrite == Overwrite::kRefuse) refuse_existing(path);
    maps.files.push_back(path);
  }
  write_gpt_index(dataset, index, options.overwrite);
  return maps;
}

IndexMaps write_bert_map(const IndexedDataset& dataset, const DocumentRange& range,
                         const IndexMapOptions& options) {
  const BertIndexOptions index{.first = range.first,
                               .last = range.last,
                               .split = std::string(kDatasetParts.at(options.part).name),
                               .samples = options.samples,
                               .max_length = options.seq_length - kBertAdded,
                               .short_probability = options.short_probability,
                               .seed = options.seed,
                               .folder = options.folder};
  const std::filesystem::path path = bert_index_path(dataset, index);
  if (options.overwrite == Overwrite::kRefuse) refuse_existing(path);
  write_bert_index(dataset, index, options.overwrite);
  return {.dataset = dataset.prefix(),
          .documents = range.size(),
          .samples = BertIndex(dataset, index).samples(),
          .files = {path}};
}

}  // namespace

std::string_view to_string(IndexMapKind kind) {
  switch (kind) {
    case IndexMapKind::kGpt:
      return "gpt";
    case IndexMapKind::kBert:
      return "bert";
  }
  unreachable();
}

IndexMaps write_index_maps(const IndexMapOptions& options) {
  const IndexedDataset dataset(options.dataset);
  const bool bert = options.kind == IndexMapKind::kBert;
  // GPT's maps take each sequence for a document.
  const DocumentSplit split =
      split_documents(options.weights, bert ? dataset.documents() : dataset.sequences());
  const DocumentRange range = split.*kDatasetParts.at(options.part).range;
  return bert ? write_bert_map(dataset, range, options) : write_gpt_maps(dataset, range, options);
}

}  // namespace nadi::inline files
