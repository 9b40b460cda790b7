#include "nadi/report/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"
#include "nadi/prediction/planning_figures.h"
#include "nadi/report/plan_csv.h"
#include "nadi/report/plan_texts.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

PlanQuestion mixed_question() {
  PlanQuestion question{.config = *find_built_in_model("gpt2-xl"),
                        .request = {.seq_length = 1024, .dtype = DType::kF16},
                        .global_batch_size = 64,
                        .cluster = *find_cluster("a100x1-a10x7")};
  return question;
}

// 1 node of 4 A100 for 32.77 $/h and 7 nodes of 4 A10 for 9.77 $/h each: 101.16 $/h.
RankedPlan mixed_plan() {
  RankedPlan plan;
  plan.candidate.plan = {.dp = 4, .pp = 8, .micro_batches = 16, .partition = {0, 11, 8, 8, 8, 8, 5, 0}};
  plan.candidate.nodes = {{.kind = 0, .count = 1, .devices = 4}, {.kind = 1, .count = 7, .devices = 4}};
  plan.estimate.iteration = Nanoseconds{900'000'000};
  plan.simulated = Nanoseconds{1'000'000'000};
  plan.estimate.dollars_per_step = 0.9 * 101.16 / 3600;
  plan.estimate.stages.resize(8);
  for (StageEstimate& stage : plan.estimate.stages) stage.capacity = 22_GiB;
  plan.estimate.stages[0].capacity = 40_GiB;
  plan.estimate.stages[0].memory = 20_GiB;
  plan.estimate.stages[3].memory = 18_GiB;
  return plan;
}

TEST(PlanFigures, AreThoseOfTheSimulatedTime) {
  const PlanQuestion question = mixed_question();
  const SimulatedWork work = question_work(question);
  EXPECT_EQ(work.tokens, 65'536);
  const PlanFigures figures = plan_figures(question, work, mixed_plan());
  EXPECT_EQ(figures.time.count(), 1'000'000'000);
  EXPECT_DOUBLE_EQ(figures.samples_per_second, 64);
  EXPECT_NEAR(*figures.dollars_per_step, 101.16 / 3600, 1e-12);
  EXPECT_NEAR(*figures.dollars_per_million_tokens, 101.16 / 3600 / 65'536 * 1e6, 1e-9);
  // 18 of 22 GiB are fuller than 20 of 40.
  EXPECT_EQ(figures.fullest_stage, 3);
  EXPECT_EQ(figures.memory, 18_GiB);
}

// Six FLOPs per parameter and token, and those of attention: 6 * 1.56e9 * 65,536 and somewhat more.
TEST(PlanFigures, CountTheWholeBatch) {
  const SimulatedWork work = question_work(mixed_question());
  EXPECT_GT(work.model_flops, 6 * 1.55e9 * 65'536);
  EXPECT_LT(work.model_flops, 6 * 1.9e9 * 65'536);
}

TEST(PlanTexts, NameNodesAndLayers) {
  const PlanQuestion question = mixed_question();
  const PlanCandidate candidate = mixed_plan().candidate;
  EXPECT_EQ(nodes_text(question.cluster, candidate.nodes), "1 p4d.24xlarge + 7 g5.24xlarge");
  EXPECT_EQ(short_nodes_text(question.cluster, candidate.nodes), "1 p4d+7 g5");
  const NodeRun half{.kind = 1, .count = 3, .devices = 2};
  EXPECT_EQ(short_nodes_text(question.cluster, std::span(&half, 1)), "3 g5:2");
  EXPECT_EQ(plan_flags_text(question, candidate),
            "--tp 1 --dp 4 --pp 8 --partition 0-11-8-8-8-8-5-0 --schedule 1f1b --global-batch-size 64 "
            "--micro-batch-size 1 --seq-length 1024 --dtype fp16 --attention fused");
}

TEST(PlanReport, FitsNarrowTerminals) {
  PlanningAnswer answer;
  answer.asked.question = mixed_question();
  answer.asked.work = question_work(mixed_question());
  answer.found.plans = {mixed_plan()};
  answer.found.evaluated = 592;
  answer.found.gap = 0.031;
  const PlanView view{.answer = answer};
  for (const std::size_t width : {80u, 100u, 160u}) {
    std::ostringstream out;
    print_plans(view, out, {.width = width, .table_width = width});
    EXPECT_THAT(out.str(), HasSubstr("0-11-8-8-8-8-5-0"));
    EXPECT_THAT(out.str(), HasSubstr("1.00 s"));
    EXPECT_THAT(out.str(), HasSubstr("592 plans were evaluated"));
    EXPECT_THAT(out.str(), HasSubstr("by more than"));
    EXPECT_EQ(out.str().find("900 ms") != std::string::npos, width >= 160)
        << "the estimate beside the simulated time, where there is room";
  }
}

TEST(PlanReport, SaysWhatTheNearestPlanLacks) {
  const PlanQuestion question = mixed_question();
  PlanAnswer answer;
  EXPECT_EQ(nearest_miss_text(question, answer), "");
  answer.nearest = NearestMiss{.plan = mixed_plan(),
                               .missing_memory = 3_GiB,
                               .missing_dollars_per_million_tokens = 0.25,
                               .missing_time = Nanoseconds{20'000'000}};
  EXPECT_THAT(
      nearest_miss_text(question, answer),
      HasSubstr("needs 3.00 GiB more memory on its fullest device, 0.25 $ more per million tokens and "
                "20.0 ms more per step"));
}

TEST(PlanCsv, QuotesNamesOfNodes) {
  PlanQuestion question = mixed_question();
  question.cluster.kinds[0].name = "a,\"b\"";
  const RankedPlan plan = mixed_plan();
  std::string lines;
  append_plan_csv(lines, question, plan.candidate, plan.estimate);
  EXPECT_THAT(lines, HasSubstr(",\"1 a,\"\"b\"\" + 7 g5.24xlarge\","));
  EXPECT_THAT(lines, testing::StartsWith("1,4,8,1,16,none,0,false,1f1b,1,0-11-8-8-8-8-5-0,"));
  EXPECT_THAT(lines, HasSubstr(",0.9,21474836480,0,"));
}

}  // namespace
}  // namespace nadi::inline show
