#include "nadi/train/expert_balance.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "nadi/engine/engine.h"
#include "nadi/model/model_config.h"
#include "nadi/run/agreement.h"

namespace nadi::inline runs {
namespace {

std::vector<std::string> names_of_loads(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const BlockPart& part : config.architecture->block.parts) {
    if (!part.experts) continue;
    const std::string router = joined_name(part.scope, part.experts->router);
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
      if (is_sparse(config, layer)) names.push_back(config.architecture->in_block(layer, router) + ".load");
  }
  return names;
}

}  // namespace

std::vector<std::pair<const char*, double>> named_figures(const ExpertBalance& balance) {
  return {{"train/expert_load", balance.largest_over_mean},
          {"train/dropped_choices", static_cast<double>(balance.dropped)},
          {"train/auxiliary_loss", balance.auxiliary_loss},
          {"train/router_z_loss", balance.router_z_loss}};
}

// Ranks that share each expert place the same tokens. Losses are of the tokens that a rank routes: its own, where sequences
// are split.
ExpertLoads::ExpertLoads(const ModelConfig& config, const Plan& plan, Rank rank, const Engine& engine)
    : engine_(engine),
      counts_tokens_(plan.numbers_experts() ? expert_coordinates_of(plan, rank).etp == 0
                                            : coordinates_of(plan, rank).tp == 0),
      counts_losses_(coordinates_of(plan, rank).tp == 0 || plan.sequence_parallel),
      experts_(config.experts),
      loads_(names_of_loads(config)) {}

double ExpertLoads::of_routers(const Agreement& agreement, const char* loss) const {
  const bool has = counts_losses_ && engine_.find_variable(loss) != nullptr;
  return agreement.sum(has ? static_cast<double>(engine_.read_all<float>(loss)[0]) : 0);
}

ExpertBalance ExpertLoads::of_last_step(const Agreement& agreement) const {
  // [2, experts] of each layer: tokens that chose an expert, and those of them that were kept.
  const auto per_layer = static_cast<std::size_t>(2 * experts_);
  std::vector<double> all(loads_.size() * per_layer, 0);
  for (std::size_t layer = 0; layer < loads_.size(); ++layer) {
    if (!counts_tokens_ || engine_.find_variable(loads_[layer]) == nullptr) continue;
    const std::vector<float> own = engine_.read_all<float>(loads_[layer]);
    std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(layer * per_layer));
  }
  all = agreement.sums(all);
  ExpertBalance balance{.auxiliary_loss = of_routers(agreement, "auxiliary_loss"),
                        .router_z_loss = of_routers(agreement, "router_z_loss")};
  const auto experts = static_cast<std::size_t>(experts_);
  for (std::size_t layer = 0; layer < loads_.size(); ++layer) {
    const std::span<const double> chosen = std::span(all).subspan(layer * per_layer, experts);
    const std::span<const double> kept = std::span(all).subspan(layer * per_layer + experts, experts);
    const double sum = std::accumulate(chosen.begin(), chosen.end(), 0.0);
    balance.choices += static_cast<std::int64_t>(sum);
    balance.dropped += static_cast<std::int64_t>(sum - std::accumulate(kept.begin(), kept.end(), 0.0));
    if (sum > 0)
      balance.largest_over_mean =
          std::max(balance.largest_over_mean, std::ranges::max(chosen) * static_cast<double>(experts_) / sum);
  }
  return balance;
}

}  // namespace nadi::inline runs
