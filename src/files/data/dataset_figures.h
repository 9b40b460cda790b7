// The figures of a dataset that its index does not have: those of its tokens, and which index maps lie
// beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nadi::inline files {

class IndexedDataset;

struct DatasetFigures {
  std::int64_t shortest = 0;  // tokens of a sequence
  std::int64_t longest = 0;
  double mean_length = 0;
  std::int64_t largest_token = -1;  // -1 means the dataset has no tokens
  std::int64_t empty_documents = 0;
  std::vector<std::string> index_maps = {};  // file names, sorted
};

// Reads all tokens. `on_sequence` is called before each sequence; it may throw.
DatasetFigures dataset_figures(const IndexedDataset& dataset, const std::function<void()>& on_sequence = {});

}  // namespace nadi::inline files
