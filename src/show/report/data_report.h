// What the commands about training data found or made, as text for people and as JSON (docs/json.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/data/preprocess.h"

namespace nadi::inline files {
class IndexedDataset;
struct DatasetFigures;
struct IndexMapOptions;
struct IndexMaps;
struct LearnedTokenizer;
}  // namespace nadi::inline files

namespace nadi::inline show {

std::string tokenizer_text(const LearnedTokenizer& learned);
Json tokenizer_json(const LearnedTokenizer& learned);

// A run of preprocess(), with what the caller knows of it.
struct PreprocessRun {
  std::string input;  // as it was given
  std::string tokenizer;
  std::int64_t vocabulary = 0;
  int workers = 1;
  double seconds = 0;
  PreprocessReport report;
};
std::string preprocess_text(const PreprocessRun& run);
Json preprocess_json(const PreprocessRun& run);

std::string index_maps_text(const IndexMaps& maps);
Json index_maps_json(const IndexMaps& maps, const IndexMapOptions& options);

// Without the name of the dataset, which is the heading.
std::string dataset_text(const IndexedDataset& dataset, const DatasetFigures& figures);
Json dataset_json(const IndexedDataset& dataset, const DatasetFigures& figures);

// The texts of a document, one for each sequence: lines for a terminal, where control characters are '?';
// and a line of JSON that preprocess() reads, where bytes that are not UTF-8 are U+FFFD.
std::string document_text(const std::vector<std::string>& texts);
std::string document_json_line(const std::vector<std::string>& texts);
// The tokens of a document, a line for each sequence.
std::string document_tokens(const IndexedDataset& dataset, std::int64_t document);

}  // namespace nadi::inline show
