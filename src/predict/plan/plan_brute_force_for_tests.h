// Every plan of a question's space, in no clever way: the oracle of searches.
//
// Nothing here knows of bounds: all settings, all sequences of what stages can be made of, all partitions,
// each with an estimate of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_search.h"
#include "nadi/plan/plan_space.h"
#include "nadi/sim/cluster_for_tests.h"

namespace nadi::inline predict {

inline ModelConfig model_to_plan(std::int64_t layers) {
  ModelConfig config = tiny_model(architecture_named("gpt2"), layers);
  config.width = 256;
  config.head_width = 64;
  config.ffn_width = 1024;
  config.vocabulary = 2000;
  config.positions = 128;
  return config;
}

// `slow` nodes have half of the speed, another number of devices, and a lower price.
struct MixedNodes {
  std::int32_t fast = 1, slow = 2;
  std::int32_t fast_devices = 2, slow_devices = 2;
  std::int64_t memory = 16'000'000'000;
};
inline Cluster mixed_cluster(const MixedNodes& mixed) {
  Cluster cluster = cluster_for_tests(mixed.fast + mixed.slow, mixed.fast_devices);
  cluster.devices.front().memory = Bytes{mixed.memory};
  cluster.kinds.front().price_per_hour = 8;
  DeviceSpec device = cluster.devices.front();
  device.name = "slow";
  for (FlopRate& peak : device.matrix_peak) peak = FlopRate{0.5e12};
  device.memory_bandwidth = ByteRate{0.4e12};
  cluster.devices.push_back(device);
  NodeSpec node = cluster.kinds.front();
  node.name = "slow";
  node.device = 1;
  node.devices = mixed.slow_devices;
  node.price_per_hour = 3;
  cluster.kinds.push_back(node);
  for (std::int32_t i = 0; i < mixed.slow; ++i) cluster.nodes[static_cast<std::size_t>(mixed.fast + i)] = 1;
  return cluster;
}

inline PlanQuestion question_of(const Cluster& cluster, std::int64_t layers, std::int64_t batch) {
  PlanQuestion question{.config = model_to_plan(layers), .cluster = cluster};
  question.request.seq_length = 128;
  question.global_batch_size = batch;
  return question;
}

// Those of all grids.
inline std::vector<PlanSetting> plan_settings(const PlanQuestion& question, std::int64_t devices) {
  std::vector<PlanSetting> all;
  for (const PlanSetting& grid : plan_grids(question, devices))
    for (const PlanSetting& setting : settings_of(question, grid)) all.push_back(setting);
  return all;
}

class EveryPlan {
 public:
  using Visit = std::function<bool(const PlanCandidate&)>;  // false means no more

  EveryPlan(const PlanQuestion& question, Visit visit)
      : question_(question), visit_(std::move(visit)), left_(question.cluster.kinds.size()) {
    for (const std::int32_t kind : question.cluster.nodes) ++left_[static_cast<std::size_t>(kind)];
  }

  // Whether all were visited.
  bool run() {
    const std::vector<std::int32_t> nodes = left_;
    for (const PlanSetting& setting : plan_settings(question_, question_.cluster.device_count())) {
      setting_ = &setting;
      makes_ =
          stage_makes(question_.cluster, nodes,
                      {.ranks = setting.ranks_per_stage(), .tp = setting.plan.tp, .stages = setting.plan.pp});
      orders_.clear();
      place_stages();
      const std::int64_t chunks = setting.plan.pp * setting.plan.virtual_stages;
      const std::int64_t most = question_.space.few_partitions;
      const bool few = partitions_up_to(question_.config.layers, chunks, most) *
                           std::max<std::int64_t>(1, std::ssize(orders_)) <
                       most;
      spread_ = setting.plan.virtual_stages > 1 && !few;
      spreads_ = spreads_ || spread_;
      for (const std::vector<std::int32_t>& order : orders_) {
        runs_ = runs_of(makes_, order);
        if (!place_layers(question_.config.layers)) return false;
      }
    }
    return true;
  }

  // Some interleaved plans have too many partitions, and those with evenly spread layers alone were visited.
  bool spreads() const { return spreads_; }

 private:
  void place_stages() {
    const Plan& plan = setting_->plan;
    if (std::ssize(order_) == plan.pp) return orders_.push_back(order_);
    for (std::int32_t m = 0; m < std::ssize(makes_.makes); ++m) {
      const StageMake& make = makes_.makes[static_cast<std::size_t>(m)];
      bool enough = true;
      for (const NodeRun& run : make.nodes)
        enough = (left_[static_cast<std::size_t>(run.kind)] -= run.count) >= 0 && enough;
      const std::int64_t stages = std::min(make.stages, plan.pp - std::ssize(order_));
      order_.insert(order_.end(), static_cast<std::size_t>(stages), m);
      if (enough) place_stages();
      order_.resize(order_.size() - static_cast<std::size_t>(stages));
      for (const NodeRun& run : make.nodes) left_[static_cast<std::size_t>(run.kind)] += run.count;
    }
  }

  bool place_layers(std::int64_t rest) {
    const Plan& plan = setting_->plan;
    const std::int64_t parts = spread_ ? plan.pp : plan.pp * plan.virtual_stages;
    if (std::ssize(partition_) + 1 == parts) {
      partition_.push_back(rest);
      const bool goes_on = visit_(candidate_of(
          *setting_, runs_, spread_ ? spread_over_chunks(partition_, plan.virtual_stages) : partition_));
      partition_.pop_back();
      return goes_on;
    }
    for (std::int64_t layers = 0; layers <= rest; ++layers) {
      partition_.push_back(layers);
      const bool goes_on = place_layers(rest - layers);
      partition_.pop_back();
      if (!goes_on) return false;
    }
    return true;
  }

  const PlanQuestion& question_;
  const Visit visit_;
  const PlanSetting* setting_ = nullptr;
  StageMakes makes_;
  std::vector<std::int32_t> left_, order_;
  std::vector<std::vector<std::int32_t>> orders_;
  std::vector<NodeRun> runs_;
  std::vector<std::int64_t> partition_;
  bool spread_ = false, spreads_ = false;
};

// All plans of a space with what limits and objectives look at.
struct PlanSpaceFigures {
  struct Figures {
    double seconds = 0, dollars = 0, bytes = 0;
  };
  std::vector<Figures> fitting;  // in memory
  std::int64_t plans = 0;
  bool spreads = false;

  // The best of the plans that keep to the limits; infinite means there are none.
  double best(const PlanQuestion& question) const {
    const double tokens = static_cast<double>(question.global_batch_size * question.request.seq_length);
    double best = std::numeric_limits<double>::infinity();
    for (const Figures& plan : fitting) {
      const PlanLimits& limits = question.limits;
      if (limits.step_time && plan.seconds > static_cast<double>(limits.step_time->count()) * 1e-9) continue;
      if (limits.dollars_per_million_tokens &&
          plan.dollars / tokens * 1e6 > *limits.dollars_per_million_tokens)
        continue;
      const double objective = question.objective == PlanObjective::kTime   ? plan.seconds
                               : question.objective == PlanObjective::kCost ? plan.dollars
                                                                            : plan.bytes;
      best = std::min(best, objective);
    }
    return best;
  }
};

inline PlanSpaceFigures figures_of_every_plan(const PlanQuestion& question) {
  PlanSpaceFigures figures;
  PlanEstimator estimator(question);
  EveryPlan every(question, [&](const PlanCandidate& candidate) {
    const PlanEstimate estimate = estimator.of(candidate);
    ++figures.plans;
    if (estimate.fits())
      figures.fitting.push_back({.seconds = objective_of(PlanObjective::kTime, estimate),
                                 .dollars = objective_of(PlanObjective::kCost, estimate),
                                 .bytes = objective_of(PlanObjective::kMemory, estimate)});
    return true;
  });
  every.run();
  figures.spreads = every.spreads();
  return figures;
}

// Plans of the space, or `most` if they are as many or more.
struct PlanCount {
  std::int64_t plans = 0;
  bool spreads = false;  // as EveryPlan has it
};
inline PlanCount count_plans(const PlanQuestion& question, std::int64_t most) {
  PlanCount count;
  EveryPlan every(question, [&](const PlanCandidate&) { return ++count.plans < most; });
  every.run();
  count.spreads = every.spreads();
  return count;
}

inline double best_estimate(const PlanQuestion& question, const PlanAnswer& answer) {
  double best = std::numeric_limits<double>::infinity();
  for (const RankedPlan& plan : answer.plans)
    best = std::min(best, objective_of(question.objective, plan.estimate));
  return best;
}

}  // namespace nadi::inline predict
