// Every kind of plan, every rank: a record of a run that follows its program, with communication in the
// background, gives the Chakra file that is written without running.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/trace/trace_check.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi::inline traces {
namespace {

using testing::HasSubstr;

struct PlanCase {
  std::string name;
  Plan plan;
};

void PrintTo(const PlanCase& plan_case, std::ostream* out) {
  *out << plan_case.name;
}

std::vector<PlanCase> plan_cases() {
  return {
      {"accumulation", {.micro_batches = 4}},
      {"dp2", {.dp = 2}},
      {"dp2_accumulation", {.dp = 2, .micro_batches = 2}},
      {"tp2", {.tp = 2}},
      {"cp2", {.cp = 2}},
      {"tp2_cp2_sequence_parallel", {.tp = 2, .cp = 2, .sequence_parallel = true}},
      {"pp2", {.pp = 2, .micro_batches = 4}},
      {"pp4_empty_ends", {.tp = 2, .dp = 2, .pp = 4, .micro_batches = 2, .partition = {0, 3, 1, 0}}},
      {"pp4_empty_between", {.tp = 2, .dp = 2, .pp = 4, .micro_batches = 2, .partition = {2, 0, 1, 1}}},
      {"gpipe", {.pp = 4, .schedule = ScheduleKind::kGPipe, .micro_batches = 4}},
      {"interleaved",
       {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
      {"zero1", {.dp = 2, .zero_stage = 1}},
      {"zero1_cp2_pp2", {.cp = 2, .dp = 2, .pp = 2, .zero_stage = 1, .micro_batches = 2}},
      {"all_at_once",
       {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 2}},
  };
}

// All stages of a plan with the traces that their ranks should give.
class Stages {
 public:
  explicit Stages(const Plan& plan) : plan_(plan) {
    ModelConfig config = *find_built_in_model("gpt2");
    config.layers = 4;
    config.vocabulary = 64;
    const StepRequest request{.batch_size = 4, .seq_length = 16};
    for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
      programs_.push_back(build_step(config, request, plan, stage));
      kinds_.merge(collective_groups(programs_.back()));
    }
  }

  const Program& program_of(Rank rank) const {
    return programs_[static_cast<std::size_t>(coordinates_of(plan_, rank).pp)];
  }
  ExecutionTraceOptions options(Rank rank) const {
    return {.plan = &plan_, .rank = rank, .group_kinds = kinds_};
  }
  Trace dry(Rank rank) const {
    std::string bytes;
    write_rank_trace(plan_, program_of(rank), ProcessGroups(plan_, kinds_), rank,
                     {.tensors = TensorListing::kAll}, [&](std::string_view part) { bytes += part; });
    return read_chakra(std::as_bytes(std::span(bytes)), "dry");
  }
  std::vector<Rank> ranks() const {
    std::vector<Rank> ranks;
    for (std::int32_t r = 0; r < plan_.world_size(); ++r) ranks.push_back(Rank{r});
    return ranks;
  }

 private:
  const Plan plan_;
  std::vector<Program> programs_;
  std::set<GroupKind> kinds_;
};

class ExecutionPlans : public testing::TestWithParam<PlanCase> {};
INSTANTIATE_TEST_SUITE_P(All, ExecutionPlans, testing::ValuesIn(plan_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(ExecutionPlans, AFaithfulRunHasTheDryTrace) {
  const Stages stages(GetParam().plan);
  for (const Rank rank : stages.ranks()) {
    SCOPED_TRACE(to_number(rank));
    const Program& program = stages.program_of(rank);
    const ExecutedStep step = execute_overlapped_for_tests(program, 3, Nanoseconds{1000});
    const ExecutionTrace run = trace_execution(program, std::span(&step, 1), stages.options(rank));
    EXPECT_EQ(run.dropped_dependencies, 0u);
    std::string bytes;
    write_chakra(run.trace, [&](std::string_view part) { bytes += part; });
    const Trace back = read_chakra(std::as_bytes(std::span(bytes)), "run");
    check_trace(back);
    ASSERT_EQ(compare_with_dry_trace(back, stages.dry(rank)), std::nullopt);
    for (std::size_t row = 0; row < back.size(); ++row)
      ASSERT_EQ(back.find_attribute(row, "algorithm_gb_per_second").has_value(),
                back.type(row) != NodeType::kComp)
          << back.name(row);
  }
}

// A later step has the nodes of the first, each with the same dependencies or more.
TEST_P(ExecutionPlans, SoHasALaterStep) {
  const Stages stages(GetParam().plan);
  const Rank rank = stages.ranks().back();
  const Program& program = stages.program_of(rank);
  const std::array steps{execute_overlapped_for_tests(program, 0, Nanoseconds{}),
                         execute_overlapped_for_tests(program, 1, Nanoseconds{1'000'000'000})};
  const ExecutionTrace run = trace_execution(program, steps, stages.options(rank));
  check_trace(run.trace);
  EXPECT_EQ(run.dropped_dependencies, 0u);
  const std::size_t size = steps[0].kernels.size();
  ASSERT_EQ(run.trace.size(), 2 * size);
  for (std::size_t row = 0; row < size; ++row) {
    ASSERT_EQ(run.trace.name(row), run.trace.name(row + size));
    ASSERT_LE(run.trace.data_deps(row).size(), run.trace.data_deps(row + size).size());
  }
}

// In microseconds: step 0 reduces from 20 to 30; the reduction of step 1 is handed over at 25, or at 35.
TEST(ExecutionInLine, WhatWasNotWaitedForIsNoDependency) {
  const Program program = communicating_program_for_tests();
  const Plan plan = communicating_plan_for_tests();
  const auto us = [](std::int64_t count) { return Nanoseconds{count * 1000}; };
  for (const std::int64_t handed_over : {25, 35}) {
    const std::array steps{
        ExecutedStep{.step = 0,
                     .kernels = {{.op = OpId{0}, .start = us(0), .end = us(10), .stream = StreamId{1}},
                                 {.op = OpId{1}, .start = us(15), .end = us(20)},
                                 {.op = OpId{2}, .start = us(20), .end = us(30), .stream = StreamId{2}}}},
        ExecutedStep{
            .step = 1,
            .kernels = {{.op = OpId{0}, .start = us(12), .end = us(14), .stream = StreamId{1}},
                        {.op = OpId{1}, .start = us(22), .end = us(24)},
                        {.op = OpId{2}, .start = us(handed_over), .end = us(45), .stream = StreamId{3}}}}};
    const Trace trace = trace_execution(program, steps, {.plan = &plan}).trace;
    ASSERT_EQ(trace.size(), 6u);
    EXPECT_THAT(trace.data_deps(2), testing::ElementsAre(TraceNodeId{1}));
    EXPECT_THAT(trace.data_deps(5), testing::ElementsAre(TraceNodeId{4}));
    // Behind the other reduction, or behind what that one waited for.
    EXPECT_THAT(trace.ctrl_deps(5), testing::ElementsAre(TraceNodeId{handed_over == 25 ? 1U : 2U}));
    EXPECT_EQ(trace.start(5), us(handed_over));
    EXPECT_EQ(trace.duration(5), us(45 - handed_over));
  }
}

TEST(ExecutionPlansMistakes, ACollectiveOutOfTurnIsSeen) {
  const Stages stages({.dp = 2});
  const Program& program = stages.program_of(Rank{0});
  ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  std::vector<std::size_t> reductions;
  for (std::size_t i = 0; i < step.kernels.size(); ++i)
    if (step.kernels[i].stream != kComputeStream) reductions.push_back(i);
  ASSERT_GE(reductions.size(), 2u);
  std::swap(step.kernels[reductions[0]].instruction, step.kernels[reductions[1]].instruction);
  std::swap(step.kernels[reductions[0]].op, step.kernels[reductions[1]].op);
  const auto difference = compare_with_dry_trace(
      trace_execution(program, std::span(&step, 1), stages.options(Rank{0})).trace, stages.dry(Rank{0}));
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, HasSubstr(" ran where the program has "));
}

TEST(ExecutionPlansMistakes, AMessageThatWasNotSentIsSeen) {
  const Stages stages({.pp = 2, .micro_batches = 2});
  const Program& program = stages.program_of(Rank{0});
  ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  std::erase_if(step.kernels, [&](const ExecutedKernel& call) {
    const CallOrigin origin = origin_of(program, call);
    return origin.op.kind == OpKind::kSend && origin.instruction.micro_batch == 1;
  });
  const auto difference = compare_with_dry_trace(
      trace_execution(program, std::span(&step, 1), stages.options(Rank{0})).trace, stages.dry(Rank{0}));
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, HasSubstr("send"));
}

// Another rank's has other peers.
TEST(ExecutionPlansMistakes, ATraceOfAnotherRankIsSeen) {
  const Stages stages({.dp = 2, .pp = 2});
  const Program& program = stages.program_of(Rank{2});
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  const auto difference = compare_with_dry_trace(
      trace_execution(program, std::span(&step, 1), stages.options(Rank{3})).trace, stages.dry(Rank{2}));
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, HasSubstr("differs in the attribute 'comm_src'"));
}

TEST(ExecutionPlansMistakes, OtherClocksAreBroughtToOne) {
  const Program program = communicating_program_for_tests();
  const Plan plan = communicating_plan_for_tests();
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{5'000'000});
  const Trace trace =
      trace_execution(program, std::span(&step, 1),
                      {.plan = &plan, .rank = Rank{2}, .clock_offset = Nanoseconds{4'000'000}})
          .trace;
  // Posted 250 ns after the step began, 128 bytes in 20 us.
  EXPECT_EQ(trace.start(0), Nanoseconds{1'000'250});
  EXPECT_EQ(trace.duration(0), kTransferForTests);
  const auto bandwidth = trace.find_attribute(0, "algorithm_gb_per_second");
  ASSERT_TRUE(bandwidth);
  EXPECT_EQ(bandwidth->kind, TraceAttributeKind::kDouble);
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(bandwidth->bits), 128.0 / 20'000);
}

}  // namespace
}  // namespace nadi::inline traces
