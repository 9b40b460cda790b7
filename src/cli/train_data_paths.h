// Which of Megatron's datasets a run reads: --data-path with --split, a file with such words, or datasets for
// training and validation apart.
#pragma once

#include <string>
#include <vector>

namespace nadi {

class Flags;

// Whether any of those flags is given: else the run reads SQuAD.
bool reads_indexed_data(const Flags& flags);

struct TrainDataPaths {
  std::vector<std::string> train;       // with their weights: see data/data_path.h
  std::vector<std::string> validation;  // empty: the part of `train` that --split says
};
// Both empty where none is given. Error (usage) when flags contradict each other, Error (input) for a file
// that is damaged.
TrainDataPaths resolve_data_paths(const Flags& flags);

}  // namespace nadi
