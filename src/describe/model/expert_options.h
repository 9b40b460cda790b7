// How layers with experts are computed, as far as the model does not say it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/graph/ops/expert_rows.h"

namespace nadi::inline describe {

// What the loss that keeps experts evenly busy is taken over.
enum class BalanceLossKind : std::uint8_t {
  kPooled,    // the tokens of all layers as one, as transformers does; a pipeline's stages cannot
  kPerLayer,  // each layer's, added up, as Megatron-LM's aux_loss
  kNone,
};

// How busy experts are, as far as costs are concerned: all alike, by Zipf's law, or as measured (expert_load.h).
struct ExpertLoad {
  double zipf = 0;                               // the exponent; 0 means all alike
  std::vector<std::vector<double>> layers = {};  // tokens of each expert
  bool operator==(const ExpertLoad&) const = default;
};

inline constexpr double kMostRankCapacity = 4;

struct ExpertOptions {
  std::optional<BalanceLossKind> balance = {};  // else pooled, and per layer where there are several stages
  // Of that loss; else the model's, which is 0 where its configuration does not add the loss.
  std::optional<double> balance_coefficient = {};
  double z_coefficient = 0;
  // Tokens that an expert takes at most: so many times the mean; 0 means all that choose it.
  double capacity_factor = 0;
  bool padded = false;  // every expert takes exactly so many rows
  DropPolicy drop_policy = DropPolicy::kProbs;
  // Room for the rows that a rank's experts get from others, as a multiple of the mean; 0 means the worst case, but at
  // most kMostRankCapacity. More rows stop the step.
  double rank_capacity_factor = 0;
  ExpertLoad load = {};

  bool operator==(const ExpertOptions&) const = default;
};

}  // namespace nadi::inline describe
