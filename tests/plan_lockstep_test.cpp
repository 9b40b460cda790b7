// Every kind of plan against one rank: all ranks of a plan run in lockstep on the reference engine, and after
// three steps the loss and every updated weight must be those of a single rank, to 1e-9 in double precision.
// What the ranks hold and send must be what the summary of their programs says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/reference/lockstep.h"
#include "plan_cases.h"
#include "random_integers.h"

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 8, kTokens = 8, kSteps = 3;

// All ranks of a plan with their data.
class Cluster {
 public:
  Cluster(const ModelConfig& config, StepRequest request, const Plan& plan) : plan_(plan) {
    request.batch_size = kBatch / plan.dp;
    request.seq_length = kTokens;
    request.layout.bucket_elements = 100;  // several buckets per chunk
    request.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 0.01};
    for (std::int64_t stage = 0; stage < plan.pp; ++stage)
      programs_.push_back(build_step(config, request, plan, stage));
    ids_ = random_integers("ids", kBatch * kTokens, config.vocabulary);
    types_ = random_integers("types", kBatch * kTokens, 2);
    targets_ = random_integers("targets", kBatch * kTokens, config.vocabulary);
    for (const std::size_t ignored : {3, 7, 21, 50}) targets_[ignored] = -100;
    for (std::int64_t r = 0; r < plan.world_size(); ++r) {
      const Rank rank{static_cast<std::int32_t>(r)};
      ReferenceStore& store = stores_.emplace_back();
      store.set("token_count", {kBatch * kTokens - 4});
      store.set("schedule_advance", {1});
      for (const Graph& graph : program_of(rank).graphs) initialize(graph, store, 1, place_of(rank));
    }
    for (int kind = 0; kind < kGroupKindCount; ++kind)
      for (std::int64_t r = 0; r < plan.world_size(); ++r) {
        std::vector<int> members;
        for (const Rank member : group_members(plan, GroupKind{static_cast<std::uint8_t>(kind)},
                                               Rank{static_cast<std::int32_t>(r)}))
          members.push_back(to_number(member));
        if (std::ranges::find(members, static_cast<int>(r)) == members.end())
          continue;  // in no embedding group
        auto& lists = groups_[std::string(to_string(GroupKind{static_cast<std::uint8_t>(kind)}))];
        if (std::ranges::find(lists, members) == lists.end()) lists.push_back(members);
      }
  }

  const Program& program_of(Rank rank) const { return programs_[coordinates_of(plan_, rank).pp]; }

  PlaceInGroup place_of(Rank rank) const {
    return [this, rank](const std::string& group) -> std::int64_t {
      const std::vector<Rank> members = group_members(plan_, group_named(group), rank);
      return std::ranges::find(members, rank) - members.begin();
    };
  }

  LockstepReport step(std::int64_t number) {
    std::vector<LockstepRank> ranks;
    std::vector<std::map<std::pair<std::size_t, int>, ReferenceSlot>> slots(stores_.size());
    std::vector<std::vector<ReferenceStore>> inputs(stores_.size());
    for (std::size_t r = 0; r < stores_.size(); ++r) {
      const Rank rank{static_cast<std::int32_t>(r)};
      for (std::int64_t m = 0; m < plan_.micro_batches; ++m)
        inputs[r].push_back(micro_batch(rank, m, number));
      LockstepRank& entry = ranks.emplace_back();
      entry.store = &stores_[r];
      const Program& program = program_of(rank);
      for (const Instruction& instruction : program.instructions) {
        const Section& section = program.section(instruction.section);
        entry.tasks.push_back({.graph = &program.graph_of(section),
                               .ops = {section.first_op, section.end_op},
                               .slot = &slots[r][{section.graph, instruction.micro_batch}],
                               .inputs = &inputs[r][instruction.micro_batch]});
      }
    }
    return run_lockstep(ranks, groups_);
  }

  double loss() const { return stores_.back().get("loss").front(); }  // of the last stage
  const ReferenceStore& store(std::size_t rank) const { return stores_[rank]; }
  std::size_t size() const { return stores_.size(); }

 private:
  // The sequences of the data-parallel rank's micro-batch, of each the tokens of the context-parallel rank.
  ReferenceStore micro_batch(Rank rank, std::int64_t m, std::int64_t step) const {
    const std::int64_t sequences = kBatch / plan_.dp / plan_.micro_batches;
    const std::int64_t first = coordinates_of(plan_, rank).dp * (kBatch / plan_.dp) + m * sequences;
    std::vector<Shard> shards;
    if (plan_.cp > 1) shards.push_back(zigzag_shard("cp", plan_.cp, 1, kTokens));
    const std::vector<std::int64_t> own =
        whole_indices({sequences, kTokens / plan_.cp}, shards, place_of(rank));
    const auto part = [&](const Doubles& all) {
      Doubles values;
      for (const std::int64_t i : own) values.push_back(all[first * kTokens + i]);
      return values;
    };
    ReferenceStore inputs;
    inputs.set("input_ids", part(ids_));
    inputs.set("token_type_ids", part(types_));
    inputs.set("targets", part(targets_));
    inputs.set("random", {42, static_cast<double>(step), static_cast<double>(first)});
    Doubles lengths;
    for (std::int64_t s = first; s < first + sequences; ++s)
      lengths.push_back(static_cast<double>(kTokens - s % 4));
    inputs.set("lengths", lengths);
    return inputs;
  }

  const Plan plan_;
  std::vector<Program> programs_;
  std::vector<ReferenceStore> stores_;
  RankGroups groups_;
  Doubles ids_, types_, targets_;
};

class PlanLockstep : public testing::TestWithParam<std::tuple<Architecture, PlanCase>> {};
INSTANTIATE_TEST_SUITE_P(
    All, PlanLockstep,
    testing::Combine(testing::Values(architecture_named("gpt2"), architecture_named("bert"),
                                     architecture_named("llama"), architecture_named("mistral"),
                                     architecture_named("qwen2"), architecture_named("qwen3"),
                                     architecture_named("mixtral"), architecture_named("qwen2_moe"),
                                     architecture_named("qwen3_moe")),
                     testing::ValuesIn(plan_cases())),
    [](const auto& tested) {
      return std::string(to_string(std::get<0>(tested.param))) + "_" + std::get<1>(tested.param).name;
    });

// Three steps of a plan and of one rank with the same data: losses and updated weights are equal, and what the ranks hold
// and send is what the summary of their programs says.
void expect_equal(Cluster& one, Cluster& all) {
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    one.step(step);
    const LockstepReport report = all.step(step);
    EXPECT_NEAR(all.loss(), one.loss(), 1e-9 * one.loss()) << "step " << step;
    for (std::size_t r = 0; r < all.size(); ++r) {
      const ProgramSummary summary = summarize(all.program_of(Rank{static_cast<std::int32_t>(r)}));
      ASSERT_EQ(report.sent[r], summary.total().cost.sent) << "rank " << r;
    }
  }
  double most = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Rank rank{static_cast<std::int32_t>(r)};
    const Program& program = all.program_of(rank);
    Bytes held;
    std::map<std::string, bool> seen;
    for (const Graph& graph : program.graphs)
      for (const TensorId id : graph.tensors_with(Role::kParameter)) {
        const Tensor& tensor = graph.tensor(id);
        if (seen.contains(tensor.name)) continue;
        seen[tensor.name] = true;
        const Doubles& own = all.store(r).get(tensor.name);
        const Doubles& whole = one.store(0).get(tensor.name);
        held += Bytes{static_cast<std::int64_t>(own.size()) * size_of(tensor.dtype)};
        const std::vector<std::int64_t> at = whole_indices(tensor.shape, tensor.shards, all.place_of(rank));
        ASSERT_EQ(own.size(), at.size()) << tensor.name;
        for (std::size_t i = 0; i < own.size(); ++i)
          if (at[i] < static_cast<std::int64_t>(whole.size()))  // not a padded row of the vocabulary
            most = std::max(most, std::abs(own[i] - whole[at[i]]));
      }
    EXPECT_EQ(held, summarize(program).memory.of(Role::kParameter)) << "rank " << r;
  }
  EXPECT_LE(most, 1e-9);
}

TEST_P(PlanLockstep, GivesTheNumbersOfOneRank) {
  const auto& [architecture, plan_case] = GetParam();
  const ModelConfig config = tiny_model(architecture, 4);
  StepRequest unsplit;
  unsplit.fused_attention = plan_case.request.fused_attention;
  unsplit.optimizer = plan_case.request.optimizer;
  Cluster one(config, unsplit, {});
  Cluster all(config, plan_case.request, plan_case.plan);
  expect_equal(one, all);
}

// Capacities and losses of routers are those of a group of tokens: of one micro-batch of a data-parallel rank. One rank
// with as many micro-batches has the same groups.
class ExpertPlans : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Random, ExpertPlans, testing::Range(0, 80));

TEST_P(ExpertPlans, GiveTheNumbersOfOneRankWithTheirTokenGroups) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const std::array models{architecture_named("mixtral"), architecture_named("qwen2_moe"),
                          architecture_named("qwen3_moe")};
  const ModelConfig config = tiny_model(models[static_cast<std::size_t>(pick(0, 2))], 4);
  Plan plan{.tp = pick(1, 2), .cp = pick(1, 2), .dp = 1 << pick(0, 2), .pp = pick(1, 2)};
  plan.sequence_parallel = plan.tp > 1 && pick(0, 2) > 0;
  // Experts over ranks of their own: every degree that divides those of a stage.
  if (plan.tp == 1 || plan.sequence_parallel) {
    std::vector<Plan> splits;
    for (const std::int64_t ep : {1, 2, 3, 6})
      for (const std::int64_t etp : {1, 2})
        if (plan.stage_size() % (ep * etp) == 0) {
          splits.push_back(plan);
          splits.back().ep = ep;
          splits.back().etp = etp;
        }
    plan = splits[static_cast<std::size_t>(pick(0, std::ssize(splits) - 1))];
  }
  plan.zero_stage = pick(0, 1);
  plan.micro_batches = pick(1, 2);
  StepRequest request;
  request.experts.balance_coefficient = 0.3;
  request.experts.z_coefficient = 0.05;
  if (plan.pp == 1 && pick(0, 1) == 1)
    request.experts.balance = BalanceLossKind::kPooled;
  else
    request.experts.balance = BalanceLossKind::kPerLayer;
  // Ranks that place tokens of their own have capacities of their own.
  if (plan.cp == 1 && plan.expert_tp() == plan.tp && pick(0, 2) > 0) {
    request.experts.capacity_factor = 0.25 * static_cast<double>(pick(2, 6));
    request.experts.padded = pick(0, 1) == 1;
    if (pick(0, 1) == 1) request.experts.drop_policy = DropPolicy::kPosition;
  }
  Cluster one(config, request, {.micro_batches = plan.dp * plan.micro_batches});
  if (pick(0, 1) == 1) request.recompute.granularity = Recompute::Granularity::kFull;
  Cluster all(config, request, plan);
  expect_equal(one, all);
}

// More rows than a rank has room for stop the step; the message says where and how many.
TEST(ExpertPlans, OverflowStopsTheStep) {
  StepRequest request;
  request.experts.rank_capacity_factor = 0.25;
  Cluster all(tiny_model(architecture_named("mixtral"), 4), request, {.dp = 2, .ep = 2});
  try {
    all.step(1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(),
                testing::HasSubstr("model.layers.0.block_sparse_moe.experts.*.place_received"));
    EXPECT_THAT(error.message(),
                testing::ContainsRegex("[0-9]+ rows for the experts of this rank, and room for 16"));
  }
}

}  // namespace
}  // namespace nadi
