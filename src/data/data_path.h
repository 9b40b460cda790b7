// Reads what Megatron's --data-path says: datasets, with weights or without.
//
//   --data-path data/arxiv_text_document              one
//   --data-path 0.3 data/a_text_document 0.7 data/b_text_document
//   --data-path data/a_text_document data/b_text_document             weighted by their tokens
//   --data-path data/                                 all of a folder, by name, weighted by their tokens
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nadi {

struct DataPath {
  std::filesystem::path prefix;       // of the two files, see indexed_dataset.h
  std::optional<double> weight = {};  // positive; nothing: by its tokens. All have one, or none.
};

// At least one. Error (usage) for a list that is neither, or a weight that is not positive; Error (input) for
// a folder without datasets. Whether a dataset is there is not looked at.
std::vector<DataPath> parse_data_path(std::span<const std::string> words);

}  // namespace nadi
