// Where experts are, which ranks sum their gradients, how many rows a rank may get, and who is busiest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/base/error.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/expert_load.h"
#include "nadi/parallel/expert_room.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> members(const Plan& plan, GroupKind kind, std::int32_t rank) {
  std::vector<std::int32_t> numbers;
  for (const Rank member : group_members(plan, kind, Rank{rank})) numbers.push_back(to_number(member));
  return numbers;
}

// Megatron-LM's example of folding: tensor-parallel pairs hold other experts, and four ranks have all of them.
TEST(ExpertNumbering, FoldsOntoTheRanksOfAStage) {
  const Plan plan{.tp = 2, .dp = 4, .pp = 2, .ep = 4, .etp = 1, .sequence_parallel = true};
  EXPECT_THAT(members(plan, GroupKind::kExpert, 5), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(members(plan, GroupKind::kExpertTensor, 5), ElementsAre(5));
  EXPECT_THAT(members(plan, GroupKind::kExpertData, 5), ElementsAre(1, 5));
  EXPECT_THAT(members(plan, GroupKind::kExpert, 10), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(members(plan, GroupKind::kData, 5), ElementsAre(1, 3, 5, 7));
  Plan as_wide = plan;
  as_wide.etp = 0;  // as tp
  as_wide.ep = 2;
  EXPECT_THAT(members(as_wide, GroupKind::kExpertTensor, 5), ElementsAre(4, 5));
  EXPECT_THAT(members(as_wide, GroupKind::kExpert, 5), ElementsAre(5, 7));
  EXPECT_THAT(members(as_wide, GroupKind::kExpertData, 5), ElementsAre(1, 5));
  for (std::int32_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(rank_at(plan, expert_coordinates_of(plan, Rank{rank})), Rank{rank});
    EXPECT_EQ(members(plan, GroupKind::kWorld, rank).size(), 16u);
  }
}

TEST(ExpertNumbering, ARankIsAloneWhereExpertsAreSplitAsAllElse) {
  const Plan plan{.tp = 2, .dp = 4};
  for (const GroupKind kind :
       {GroupKind::kExpert, GroupKind::kExpertTensor, GroupKind::kExpertData, GroupKind::kWorld}) {
    EXPECT_THAT(members(plan, kind, 3), ElementsAre(3));
    EXPECT_EQ(group_size(plan, kind), 1);
  }
}

// 128 experts of 3 x 2048 x 768 numbers in 48 layers over 8 ranks.
TEST(ExpertNumbering, EveryRankHasItsShareOfExperts) {
  const ModelConfig& config = *find_built_in_model("qwen3-30b-a3b");
  const StepRequest request{.batch_size = 1, .seq_length = 64, .dtype = DType::kBF16};
  const std::int64_t all = build_step(config, request, {.dp = 8}).parameter_count();
  const std::int64_t shared = build_step(config, request, {.dp = 8, .ep = 8}).parameter_count();
  EXPECT_EQ(all - shared, std::int64_t{48} * 128 * 3 * 2048 * 768 * 7 / 8);
}

TEST(ExpertNumbering, WhatDoesNotFitIsRefused) {
  const ModelConfig& config = *find_built_in_model("mixtral-tiny");
  const auto refusal = [&](const Plan& plan, const ModelConfig& model) -> std::string {
    try {
      build_step(model, {.batch_size = 4, .seq_length = 16}, plan);
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(refusal({.dp = 2, .ep = 2}, config), "no error");
  EXPECT_EQ(refusal({.dp = 3, .ep = 3}, config), "8 experts do not divide over 3 expert-parallel ranks");
  EXPECT_EQ(refusal({.dp = 2, .ep = 4}, config),
            "1 x 4 ranks that share experts do not divide the 2 of a stage");
  EXPECT_EQ(refusal({.tp = 2, .dp = 2, .ep = 2}, config),
            "2 tensor-parallel ranks have the same tokens: each would send them to the experts");
  EXPECT_EQ(refusal({.dp = 2, .ep = 2}, *find_built_in_model("gpt2-tiny")),
            "gpt2-tiny has no experts that ranks could share");
  EXPECT_EQ(refusal({.dp = 2, .ep = 0}, config), "the expert-parallel degree must be at least 1, not 0");
}

// 8 experts, 2 of each token; 4 ranks have 2 experts each, so all choices of 4 ranks may be those of one.
TEST(RowsRoom, IsTheWorstCaseOrWhatIsAskedFor) {
  const ModelConfig& config = *find_built_in_model("mixtral-tiny");
  const Plan plan{.dp = 4, .ep = 4};
  const PlacedChoices placed{.sequences = 2, .choices = 2 * 16 * 2};
  EXPECT_EQ(rows_room(config, plan, {}, placed), 4 * 64);
  EXPECT_EQ(rows_room(config, plan, {.rank_capacity_factor = 1.25}, placed), 80);
  EXPECT_EQ(rows_room(config, plan, {.rank_capacity_factor = 100}, placed), 4 * 64);
  // With a capacity, every one of 4 ranks sends ceil(64 / 8 x 1.1) = 9 rows to each of 2 experts.
  EXPECT_EQ(rows_room(config, plan, {.capacity_factor = 1.1}, placed), 4 * 2 * 9);
  // 8 ranks have an expert each: a token cannot have both of its experts on one. At most 4 times the mean all the same.
  EXPECT_EQ(rows_room(config, {.dp = 8, .ep = 8}, {}, placed), 4 * 64);
}

TEST(ExpertLoad, IsThatOfTheBusiestRank) {
  const ModelConfig& config = *find_built_in_model("mixtral-tiny");
  const Plan plan{.dp = 4, .ep = 4};
  EXPECT_EQ(busiest_rank(config, plan, {}), 1);
  // Of 8 tokens the first rank has 4, where 2 are the mean; in the second layer all have as many.
  EXPECT_EQ(busiest_rank(config, plan, {.layers = {{3, 1, 1, 0, 1, 0, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}}}),
            1.5);
  const double mild = busiest_rank(config, plan, {.zipf = 0.5}),
               steep = busiest_rank(config, plan, {.zipf = 2});
  EXPECT_GT(mild, 1);
  EXPECT_GT(steep, mild);
  EXPECT_LE(steep, 4);
  EXPECT_THROW(busiest_rank(config, plan, {.layers = {{1, 2}}}), Error);
}

// A measured load makes the ranks' products larger, not what they send.
TEST(ExpertLoad, IsAnInputOfCost) {
  const ModelConfig& config = *find_built_in_model("mixtral-tiny");
  const auto cost = [&](const ExpertOptions& options) {
    StepRequest request{.kind = StepKind::kEvaluate, .batch_size = 1, .seq_length = 64};
    request.experts = options;
    const Program program = build_step(config, request, {.dp = 4, .ep = 4});
    OpCost sum;
    for (const Op& op : program.graphs[0].ops())
      if (op.kind == OpKind::kGroupedMatmul) sum += cost_of(program.graphs[0], op);
    return sum.matrix.count();
  };
  EXPECT_EQ(cost({.load = {.layers = {{3, 1, 1, 0, 1, 0, 1, 1}}}}), 2 * cost({}));
}

}  // namespace
}  // namespace nadi::inline describe
