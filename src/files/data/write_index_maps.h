// Writes Megatron's index maps of one part of a dataset before a training asks for them.
//
//   const IndexMaps maps = write_index_maps({.dataset = "data/arxiv_text_document", .samples = 1600,
//                                            .seq_length = 1024});
//   maps.files                              // the three maps of GPT (gpt_index.h)
//
// The maps are those that GptIndex and BertIndex write and read.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/data/document_split.h"

namespace nadi::inline files {

// The parts of a dataset, in the order of the weights of a split.
struct DatasetPart {
  std::string_view name;
  DocumentRange DocumentSplit::*range;
};
inline constexpr std::array kDatasetParts{DatasetPart{kTrainSplit, &DocumentSplit::train},
                                          DatasetPart{kValidationSplit, &DocumentSplit::validation},
                                          DatasetPart{kTestSplit, &DocumentSplit::test}};

enum class IndexMapKind {
  kGpt,   // three maps of documents and samples
  kBert,  // one map of sentences: the dataset has a sequence per sentence
};
std::string_view to_string(IndexMapKind kind);  // "gpt", "bert"

struct IndexMapOptions {
  std::filesystem::path dataset;  // as IndexedDataset takes it
  IndexMapKind kind = IndexMapKind::kGpt;
  std::int64_t samples = 0;           // at least so many
  std::int64_t seq_length = 0;        // tokens of a sample; BERT: with [CLS] and two [SEP]
  double short_probability = 0.1;     // BERT: the share of samples that are shorter on purpose
  std::uint64_t seed = 1234;          // Megatron's default
  std::string weights = "100,0,0";    // as split_documents() takes them
  std::size_t part = 0;               // index in kDatasetParts
  std::filesystem::path folder = {};  // the maps go here; empty means beside the dataset
  Overwrite overwrite = Overwrite::kRefuse;
};

struct IndexMaps {
  std::string dataset;  // its prefix
  std::int64_t documents = 0;
  std::int64_t samples = 0;                 // that the maps have
  std::optional<std::int64_t> epochs = {};  // GPT: how often the documents are used
  std::vector<std::filesystem::path> files;
};

// Error as IndexedDataset, split_documents(), write_gpt_index() and write_bert_index() throw it.
IndexMaps write_index_maps(const IndexMapOptions& options);

}  // namespace nadi::inline files
