// How evenly busy experts were in a step of training, over all ranks: read from the variables that the step counted in.
//
//   const ExpertLoads loads(config, plan, rank, engine);
//   const ExpertBalance balance = loads.of_last_step(agreement);    // collective
//   balance.largest_over_mean                                       // 1 where all experts have as many tokens
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline describe {
struct ModelConfig;
}  // namespace nadi::inline describe
namespace nadi::inline engines {
class Engine;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

class Agreement;

struct ExpertBalance {
  // Tokens of the busiest expert of a layer over the mean of that layer's experts: of the layer where it is largest.
  double largest_over_mean = 1;
  std::int64_t choices = 0;   // tokens times experts of each, over all layers
  std::int64_t dropped = 0;   // of them: beyond the capacity of an expert
  double auxiliary_loss = 0;  // of routers, not yet times its coefficient; 0 where the step has none
  double router_z_loss = 0;   // likewise
};

// As TensorBoard's event files have them.
std::vector<std::pair<const char*, double>> named_figures(const ExpertBalance& balance);

class ExpertLoads {
 public:
  // All must outlive it. The engine holds the programs of the rank's stage.
  ExpertLoads(const ModelConfig& config, const Plan& plan, Rank rank, const Engine& engine);

  ExpertBalance of_last_step(const Agreement& agreement) const;

 private:
  double of_routers(const Agreement& agreement, const char* loss) const;

  const Engine& engine_;
  const bool counts_tokens_;  // others have counted the same
  const bool counts_losses_;
  const std::int64_t experts_;
  std::vector<std::string> loads_;  // of each layer with experts, also of other stages
};

}  // namespace nadi::inline runs
