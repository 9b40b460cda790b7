// Reads a list of datasets, with weights or without, as Megatron's flag for data paths takes it.
//
//   data/arxiv_text_document                          one dataset
//   0.3 data/a_text_document 0.7 data/b_text_document
//   data/a_text_document data/b_text_document         weighted by their tokens
//   data/                                             all of a folder, by name, weighted by their tokens
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nadi::inline files {

struct DataPath {
  std::filesystem::path prefix;       // of the two files, see indexed_dataset.h
  std::optional<double> weight = {};  // positive; nothing means by its tokens. All have one, or none.
};

// At least one. Error (usage) for a list that is neither, or a weight that is not positive; Error (input) for
// a folder without datasets. Whether a dataset is there is not looked at.
std::vector<DataPath> parse_data_path(std::span<const std::string> words);

}  // namespace nadi::inline files
