// How many rows of tokens the experts of a rank may get: the bound of what only the run knows.
//
//   rows_room(config, plan, options, {.sequences = 4, .choices = 4 * 512 * 2})
//
// Where experts are shared by expert-parallel ranks, each rank gets rows from all of them. In the mean these are as many as it
// sends; the worst case is that every token has all its experts here. More than there is room for stop the step.
#pragma once

#include <cstdint>

#include "nadi/model/expert_options.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

struct ModelConfig;

// What a rank places: sequences, and their tokens times experts of each.
struct PlacedChoices {
  std::int64_t sequences = 1;
  std::int64_t choices = 0;
};
std::int64_t rows_room(const ModelConfig& config, const Plan& plan, const ExpertOptions& options,
                       const PlacedChoices& placed);

}  // namespace nadi::inline describe
