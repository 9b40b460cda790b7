#include "nadi/plan/plan_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "nadi/base/format.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_check.h"

namespace nadi::inline predict {
namespace {

struct EstimateCase {
  PlanQuestion question;
  PlanCandidate candidate;

  std::string to_string() const {
    const Plan& plan = candidate.plan;
    std::string partition, nodes;
    for (const std::int64_t layers : plan.partition) partition += format("{}-", layers);
    for (const NodeRun& run : candidate.nodes)
      nodes += format("{} of kind {} with {}, ", run.count, run.kind, run.devices);
    return format(
        "{} on {}: tp {} dp {} pp {} sp {} zero {} {} v {} m {} of {} seq {} {} recompute {} partition {} "
        "nodes {}",
        question.config.name, question.cluster.name, plan.tp, plan.dp, plan.pp, plan.sequence_parallel,
        plan.zero_stage, nadi::to_string(plan.schedule), plan.virtual_stages, plan.micro_batches,
        candidate.micro_batch_size, question.request.seq_length, nadi::to_string(question.request.dtype),
        nadi::to_string(candidate.recompute.granularity), partition, nodes);
  }
};

class EstimateCases {
 public:
  explicit EstimateCases(std::uint64_t seed) : random_(seed) {}

  EstimateCase next() {
    for (;;) {
      EstimateCase made = any();
      const Plan& plan = made.candidate.plan;
      if (plan.world_size() > made.question.cluster.device_count()) continue;
      place(made);
      const StepRequest request = request_of(made.question, made.candidate);
      if (!why_infeasible(made.question.config, request, plan)) return made;
    }
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  template <typename Value, std::size_t kCount>
  Value one_of(const std::array<Value, kCount>& list) {
    return list[static_cast<std::size_t>(below(kCount))];
  }

  EstimateCase any() {
    EstimateCase made{.question = {.config = *find_built_in_model(one_of(kModels)),
                                   .cluster = load_cluster(one_of(kClusters))},
                      .candidate = {}};
    PlanQuestion& question = made.question;
    PlanCandidate& candidate = made.candidate;
    Plan& plan = candidate.plan;
    question.request.seq_length = 256 << below(2);
    question.request.dtype = below(4) == 0 ? DType::kBF16 : DType::kF16;
    question.request.fused_attention = below(3) != 0;
    plan.tp = std::int64_t{1} << below(4);
    plan.dp = std::int64_t{1} << below(4);
    plan.pp = 1 + below(6);
    candidate.micro_batch_size = std::int64_t{1} << below(3);
    plan.micro_batches = 1 + below(10);
    const std::int64_t schedule = below(5);
    if (schedule == 0) plan.schedule = ScheduleKind::kGPipe;
    if (schedule == 1) {
      plan.schedule = ScheduleKind::kInterleaved;
      plan.virtual_stages = 2;
      plan.micro_batches = plan.pp * (1 + below(3));
    }
    plan.sequence_parallel = plan.tp > 1 && below(2) == 0;
    plan.zero_stage = below(2);
    const std::int64_t recompute = below(4);
    if (recompute == 0) candidate.recompute = {Recompute::Granularity::kFull, Recompute::Method::kUniform, 1};
    if (recompute == 1)
      candidate.recompute = {Recompute::Granularity::kSelective, Recompute::Method::kUniform, 1};
    question.global_batch_size = candidate.micro_batch_size * plan.micro_batches * plan.dp;
    const std::int64_t chunks = plan.pp * plan.virtual_stages;
    plan.partition.assign(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t l = 0; l < question.config.layers; ++l)
      ++plan.partition[static_cast<std::size_t>(below(2) == 0 ? l * chunks / question.config.layers
                                                              : below(chunks))];
    return made;
  }

  // As many devices as there are ranks, of nodes in their order or the other way round.
  void place(EstimateCase& made) {
    std::vector<NodeRun> all = nodes_in_order(made.question.cluster);
    if (below(2) == 0) std::reverse(all.begin(), all.end());
    std::int64_t left = made.candidate.plan.world_size();
    for (const NodeRun& run : all) {
      const auto whole = static_cast<std::int32_t>(std::min<std::int64_t>(run.count, left / run.devices));
      if (whole > 0)
        made.candidate.nodes.push_back({.kind = run.kind, .count = whole, .devices = run.devices});
      left -= whole * run.devices;
      if (left == 0 || whole == run.count) continue;
      made.candidate.nodes.push_back(
          {.kind = run.kind, .count = 1, .devices = static_cast<std::int32_t>(left)});
      left = 0;
    }
  }

  static constexpr std::array<const char*, 4> kModels{"gpt2", "gpt2-medium", "bert-large-uncased",
                                                      "llama3.1-8b"};
  static constexpr std::array<const char*, 4> kClusters{"a100x1-a10x7", "a10-8x4", "dgx-a100x2",
                                                        "dgx-h100x2"};
  std::mt19937_64 random_;
};

double error_of(const PlanEstimate& estimate, const SimulationResult& simulated) {
  return std::abs(static_cast<double>(estimate.iteration.count()) /
                      static_cast<double>(simulated.iteration_time.count()) -
                  1);
}

// The tolerance: half of the plans within 0.1%, nine of ten within 1%, and none beyond 4%. What differs most
// are reductions beside which hosts and stages of several kinds wait.
TEST(PlanEstimator, IsCloseToTheSimulator) {
  EstimateCases cases(1);
  std::vector<double> errors;
  for (int i = 0; i < 150; ++i) {
    const EstimateCase one = cases.next();
    PlanEstimator estimator(one.question);
    const PlanEstimate estimate = estimator.of(one.candidate);
    const SimulationResult simulated = simulate_plan(one.question, one.candidate);
    errors.push_back(error_of(estimate, simulated));
    EXPECT_LT(errors.back(), 0.04) << one.to_string() << ": " << estimate.iteration.count() << ", simulated "
                                   << simulated.iteration_time.count();
    for (const SimulatedClass& ranks : simulated.classes)
      EXPECT_EQ(estimate.stages[static_cast<std::size_t>(ranks.source)].memory, ranks.memory.reserved)
          << one.to_string();
    EXPECT_EQ(estimate.pipeline + estimate.embedding_reduction + estimate.data_reduction + estimate.update,
              estimate.iteration);
  }
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.001);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.01);
}

// The ways in which other frameworks run a program.
TEST(PlanEstimator, IsCloseToTheSimulatorHoweverWorkOverlaps) {
  EstimateCases cases(2);
  for (int i = 0; i < 60; ++i) {
    EstimateCase one = cases.next();
    OverlapOptions& overlap = one.question.overlap;
    overlap.blocking_messages = i % 4 == 0;
    overlap.messages_stop_host = i % 4 == 1;
    overlap.scattered_messages = i % 4 == 2;
    overlap.reduce_after_backward = i % 4 == 3;
    overlap.interleaved_messages_overlap = i % 8 < 4;
    if (i % 2 == 0) overlap.gradient_dtype = DType::kF16;
    PlanEstimator estimator(one.question);
    EXPECT_LT(error_of(estimator.of(one.candidate), simulate_plan(one.question, one.candidate)), 0.04)
        << one.to_string() << " overlap " << i % 4;
  }
}

// Megatron-LM's buckets, and parameters that are gathered beside the forward pass.
TEST(PlanEstimator, IsCloseToTheSimulatorHoweverParametersLie) {
  EstimateCases cases(5);
  for (int i = 0; i < 60; ++i) {
    EstimateCase one = cases.next();
    one.question.request.layout = {.rule = i % 3 == 0 ? BucketRule::kOne : BucketRule::kMegatron,
                                   .gathers = i % 3 == 1 ? GatherTime::kAfterUpdate : GatherTime::kBeforeUse};
    one.candidate.plan.zero_stage = 1;
    PlanEstimator estimator(one.question);
    const PlanEstimate estimate = estimator.of(one.candidate);
    const SimulationResult simulated = simulate_plan(one.question, one.candidate);
    EXPECT_LT(error_of(estimate, simulated), 0.04) << one.to_string() << " layout " << i % 3;
    for (const SimulatedClass& ranks : simulated.classes)
      EXPECT_EQ(estimate.stages[static_cast<std::size_t>(ranks.source)].memory, ranks.memory.reserved)
          << one.to_string();
  }
}

// One estimator for plans of all kinds: what it remembers of one is not taken for another.
TEST(PlanEstimator, SaysTheSameWhateverItWasAskedBefore) {
  EstimateCases cases(3);
  PlanQuestion question = cases.next().question;
  std::vector<PlanCandidate> candidates;
  while (candidates.size() < 25) {
    const EstimateCase one = cases.next();
    if (one.question.config.name != question.config.name ||
        one.question.cluster.name != question.cluster.name)
      continue;
    candidates.push_back(one.candidate);
  }
  question.request.seq_length = 256;
  PlanEstimator shared(question);
  for (const PlanCandidate& candidate : candidates) {
    question.global_batch_size =
        candidate.micro_batch_size * candidate.plan.micro_batches * candidate.plan.dp;
    PlanEstimator fresh(question);
    const PlanEstimate a = shared.of(candidate), b = fresh.of(candidate);
    EXPECT_EQ(a.iteration, b.iteration);
    EXPECT_EQ(a.missing_memory, b.missing_memory);
    const PlanTables& tables = shared.tables(candidate);
    EXPECT_EQ(shared.iteration(tables, candidate.plan.partition), b.iteration);
    EXPECT_EQ(shared.missing_memory(tables, candidate.plan.partition), b.missing_memory);
  }
}

// The tables bound the time of a partition from below: a stage works through all of its micro-batches.
TEST(PlanEstimator, NoPartitionIsFasterThanTheTablesOfItsStages) {
  EstimateCases cases(4);
  for (int i = 0; i < 40; ++i) {
    const EstimateCase one = cases.next();
    const Plan& plan = one.candidate.plan;
    PlanEstimator estimator(one.question);
    const PlanTables& tables = estimator.tables(one.candidate);
    const Nanoseconds whole = estimator.iteration(tables, plan.partition);
    for (std::int64_t s = 0; s < plan.pp; ++s) {
      Nanoseconds busy;
      for (std::size_t c = static_cast<std::size_t>(s); c < tables.chunks.size();
           c += static_cast<std::size_t>(plan.pp)) {
        const auto layers = static_cast<std::size_t>(plan.partition[c]);
        busy += (tables.chunks[c].forward[layers].run + tables.chunks[c].backward[layers].run) *
                plan.micro_batches;
      }
      EXPECT_GE(whole, busy) << one.to_string() << " stage " << s;
    }
  }
}

TEST(PlanEstimator, TakesMeasuredLayersAsTheSimulatorDoes) {
  const std::filesystem::path file = "../shared/data/fasop/known_cost_all.csv";
  std::filesystem::path path;
  for (std::filesystem::path up = std::filesystem::current_path(); path.empty(); up = up.parent_path()) {
    if (std::filesystem::exists(up / file)) path = up / file;
    if (up == up.parent_path()) break;
  }
  if (path.empty()) GTEST_SKIP() << "no " << file;
  PlanQuestion question{.config = *find_built_in_model("gpt2-xl"), .cluster = load_cluster("a100x1-a10x7")};
  question.global_batch_size = 64;
  question.request.seq_length = 1024;
  question.request.dtype = DType::kF16;
  question.layer_times = LayerTimes::read(path);
  PlanCandidate candidate{.plan = {.dp = 2, .pp = 16, .micro_batches = 32},
                          .nodes = nodes_in_order(question.cluster)};
  candidate.plan.partition = {4, 4, 3, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2};
  PlanEstimator estimator(question);
  EXPECT_LT(error_of(estimator.of(candidate), simulate_plan(question, candidate)), 0.01);
}

}  // namespace
}  // namespace nadi::inline predict
