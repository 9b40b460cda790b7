// Sets a part of the questions aside for validation, for data that comes without a file for it.
//
//   const SquadSplit split = split_squad(read_squad(path), {.fraction = 0.1, .seed = seed});
//
// Questions about the same context stay together, even where the file gives the context twice: what is
// validated on has not been read in training.
#pragma once

#include <cstdint>

#include "nadi/data/squad.h"

namespace nadi::inline files {

struct SplitOptions {
  double fraction = 0.1;  // of the contexts, rounded, for validation; at least one context on each side
  std::uint64_t seed = 1;
};

struct SquadSplit {
  SquadSet train;
  SquadSet validation;
};

// Both sides keep the order of the file; paragraphs without questions are on neither. Error (usage) when the
// fraction is not between 0 and 1, Error (input) when there are not two different contexts.
SquadSplit split_squad(SquadSet set, const SplitOptions& options);

}  // namespace nadi::inline files
