// Which of Megatron's datasets a run reads: --data-path with --split, a file with the words of --data-path,
// or separate datasets for training and validation.
#pragma once

#include <string>
#include <vector>

namespace nadi::inline show {

class Flags;

// Whether any of these flags is given: else the run reads SQuAD.
bool reads_indexed_data(const Flags& flags);

struct TrainDataPaths {
  std::vector<std::string> train;       // with their weights: see data/data_path.h
  std::vector<std::string> validation;  // empty means --split takes a part of `train`
};
// Both empty where none of the flags is given. Error (usage) for flags that contradict each other, Error
// (input) for a damaged file.
TrainDataPaths resolve_data_paths(const Flags& flags);

}  // namespace nadi::inline show
