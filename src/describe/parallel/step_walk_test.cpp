#include "nadi/parallel/step_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<StepOp> all_of(const Program& program, const StepWalkOptions& options = {}) {
  std::vector<StepOp> all;
  StepWalk walk(program, options);
  for (StepOp at; walk.next(at);) all.push_back(at);
  return all;
}

// One graph as one section, which runs once per micro-batch.
Program program_of(GraphBuilder& builder, std::int32_t micro_batches = 1) {
  Program program;
  program.graphs.push_back(builder.take());
  program.sections.push_back(
      {.name = "all", .end_op = static_cast<std::uint32_t>(program.graphs[0].ops().size())});
  for (std::int32_t m = 0; m < micro_batches; ++m) program.instructions.push_back({.micro_batch = m});
  return program;
}

constexpr StepOpId id(std::uint64_t number) {
  return StepOpId{number};
}

TEST(StepWalk, ReadsAndWritesOfAVariableAreInOrder) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4}, DType::kF32);
  const TensorId v = b.variable({.name = "v", .shape = {4}});
  add(b, x, v);                                                        // 0 reads v
  b.add({.kind = OpKind::kCopy, .inputs = {x}, .into = {{v}}});        // 1 overwrites v: after 0
  add(b, v, x);                                                        // 2 reads v: needs 1
  b.add({.kind = OpKind::kCopy, .inputs = {x}, .into = {{v, true}}});  // 3 adds to v: needs 1, after 2
  const Program program = program_of(b);
  const std::vector<StepOp> steps = all_of(program);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_FALSE(steps[0].waits());
  EXPECT_THAT(steps[1].data, IsEmpty());
  EXPECT_THAT(steps[1].order, ElementsAre(id(0)));
  EXPECT_THAT(steps[2].data, ElementsAre(id(1)));
  EXPECT_THAT(steps[2].order, IsEmpty());
  EXPECT_THAT(steps[3].data, ElementsAre(id(1)));
  EXPECT_THAT(steps[3].order, ElementsAre(id(2)));

  // Once more: 4 reads what 3 wrote.
  StepWalk walk(program);
  StepOp at;
  while (walk.next(at)) continue;
  walk.again();
  ASSERT_TRUE(walk.next(at));
  EXPECT_EQ(at.id, id(4));
  EXPECT_EQ(at.instruction, 0u);
  EXPECT_THAT(at.data, ElementsAre(id(3)));
}

TEST(StepWalk, DependenciesGoThroughViewsAndStayWithinTheMicroBatch) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 6}, DType::kF32);
  const TensorId y = gelu(b, x, Activation::kGeluTanh);  // 0, 2
  const TensorId view = reshape(b, y, {12});             // no step
  gelu(b, view, Activation::kGeluTanh);                  // 1 needs 0; 3 needs 2
  const Program program = program_of(b, 2);
  const std::vector<StepOp> steps = all_of(program);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_THAT(steps[1].data, ElementsAre(id(0)));
  EXPECT_EQ(steps[1].op_id, OpId{2});
  EXPECT_EQ(steps[2].micro_batch, 1);
  EXPECT_THAT(steps[2].data, IsEmpty());
  EXPECT_THAT(steps[2].order, ElementsAre(id(1)));  // the schedule: behind the instruction before
  EXPECT_THAT(steps[3].data, ElementsAre(id(2)));
  EXPECT_THAT(steps[3].order, IsEmpty());  // that follows
}

// A rank in the middle of a pipeline: it receives twice, computes twice and sends twice.
TEST(StepWalk, CommunicationHasPartnersTagsSizesAndStreams) {
  GraphBuilder b;
  const TensorId x = receive(b, Shape{8}, DType::kF32, {.group = "pp", .peer = 0, .tag = 2});
  const TensorId y = gelu(b, x, Activation::kGeluTanh);
  const TensorId sum = all_reduce(b, {.x = y, .group = {.group = "tp", .size = 2}});
  send(b, sum, {.group = "pp", .peer = 2, .tag = 4});
  Program program = program_of(b, 2);
  const Plan plan{.tp = 2, .pp = 3, .micro_batches = 2};
  const std::vector<StepOp> steps = all_of(program, {.plan = &plan});
  ASSERT_EQ(steps.size(), 8u);

  EXPECT_EQ(steps[0].binding, (RankBinding{RankBinding::Kind::kReceive, GroupKind::kPipeline, 0}));
  EXPECT_EQ(steps[0].stream, kReceiveStream);
  EXPECT_EQ(steps[0].bytes, Bytes{32});
  EXPECT_EQ(steps[0].tag, 2);
  EXPECT_EQ(steps[4].tag, 2 + 2 * 3);  // of the second micro-batch, behind two tags per stage
  EXPECT_EQ(steps[1].binding, RankBinding{});
  EXPECT_EQ(steps[1].stream, kComputeStream);
  EXPECT_EQ(steps[1].cost.read, Bytes{32});
  EXPECT_EQ(steps[2].binding, (RankBinding{RankBinding::Kind::kCollective, GroupKind::kTensor}));
  EXPECT_EQ(steps[2].stream, collective_stream(GroupKind::kTensor));
  EXPECT_EQ(steps[2].bytes, Bytes{32});
  EXPECT_EQ(steps[3].binding, (RankBinding{RankBinding::Kind::kSend, GroupKind::kPipeline, 2}));
  EXPECT_EQ(steps[3].stream, kSendStream);
  EXPECT_EQ(steps[3].tag, 4);

  // Messages from one peer stay in order, and so do those to one peer and the collectives of a group.
  EXPECT_THAT(steps[4].order, ElementsAre(id(0)));
  EXPECT_THAT(steps[6].order, ElementsAre(id(2)));
  EXPECT_THAT(steps[7].order, ElementsAre(id(3)));

  // Tensor parallelism is fastest: stage 1 has the ranks 2 and 3.
  EXPECT_EQ(peer_of(plan, steps[0].binding, Rank{3}), Rank{1});
  EXPECT_EQ(peer_of(plan, steps[3].binding, Rank{3}), Rank{5});
}

TEST(StepWalk, TransfersThatArePostedTogetherDoNotWaitForEachOther) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{8}, DType::kF32);
  send(b, x, {.group = "pp", .peer = 1, .tag = 0});
  Program program = program_of(b, 3);
  program.instructions[1].with_next = true;
  const Plan plan{.pp = 2, .micro_batches = 3};
  const std::vector<StepOp> steps = all_of(program, {.plan = &plan});
  EXPECT_THAT(steps[1].order, ElementsAre(id(0)));
  EXPECT_THAT(steps[2].order, ElementsAre(id(0)));
}

TEST(StepWalk, AddsUpToTheSummaryOfTheProgram) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 4};
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    const Program program = build_step(even_model(), {.batch_size = 4, .seq_length = 8}, plan, stage);
    WorkSummary sum;
    Bytes sent;
    StepWalk walk(program, {.plan = &plan, .dependencies = false});
    for (StepOp at; walk.next(at);) {
      ++sum.ops;
      sum.cost += at.cost;
      if (at.binding.kind != RankBinding::Kind::kReceive) sent += at.bytes;
      EXPECT_FALSE(at.waits());
    }
    const WorkSummary total = summarize(program).total();
    EXPECT_EQ(sum.ops, total.ops);
    EXPECT_EQ(sum.cost.flops(), total.cost.flops());
    EXPECT_EQ(sum.cost.moved(), total.cost.moved());
    EXPECT_EQ(sent, total.cost.sent);
  }
}

// Three micro-batches run the same section: one visit stands for all. Positions differ in cost.
TEST(StepWalk, MergesRunsThatCostTheSame) {
  GraphBuilder b;
  gelu(b, b.input("x", Shape{4}, DType::kF32), Activation::kGeluTanh);
  Program program = program_of(b, 3);
  const StepWalkOptions merged{.merge_repeats = true, .dependencies = false};
  std::vector<StepOp> steps = all_of(program, merged);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].times, 3);
  program.instructions[1].context.position = 7;
  steps = all_of(program, merged);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].times, 2);
  EXPECT_EQ(steps[1].times, 1);
  EXPECT_EQ(steps[1].instruction, 1u);
}

// Both kinds of dependencies together leave one order of computation, and one of each lane of communication:
// a step is reachable from the one before it on its stream.
TEST(StepWalk, ComputationIsOneChain) {
  const Plan plan{.pp = 2, .micro_batches = 3};
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    const Program program = build_step(even_model(), {.batch_size = 3, .seq_length = 8}, plan, stage);
    const std::vector<StepOp> steps = all_of(program, {.plan = &plan});
    std::vector<std::vector<bool>> behind(steps.size());  // by step: whether it is behind another
    for (std::size_t i = 0; i < steps.size(); ++i) {
      behind[i].resize(steps.size());
      for (const auto* list : {&steps[i].data, &steps[i].order})
        for (const StepOpId before : *list) {
          ASSERT_LT(to_number(before), i);
          behind[i][to_number(before)] = true;
          for (std::size_t j = 0; j < i; ++j) behind[i][j] = behind[i][j] || behind[to_number(before)][j];
        }
    }
    // Each instruction's computation is behind the last computation of the one before.
    std::size_t before = steps.size(), last = steps.size(), instruction = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].instruction != instruction) before = last;
      instruction = steps[i].instruction;
      if (steps[i].stream != kComputeStream) continue;
      if (before < steps.size()) {
        EXPECT_TRUE(behind[i][before]) << steps[i].op->name;
      }
      last = i;
    }
  }
}

TEST(StepWalk, RefusesMoreTagsThanFit) {
  const Program program = build_step(even_model(), {.seq_length = 8});
  const Plan plan{.pp = 1 << 20, .micro_batches = 1 << 20};
  EXPECT_THROW(StepWalk(program, {.plan = &plan}), Error);
}

TEST(StepWalk, InstructionsHaveStreams) {
  const Plan plan{.dp = 2, .pp = 2, .micro_batches = 2};
  const Program program = build_step(even_model(), {.batch_size = 2, .seq_length = 8}, plan, 1);
  std::vector<std::string> seen;
  for (const Instruction& instruction : program.instructions) {
    const std::string& name = program.section(instruction.section).name;
    seen.push_back(name);
    const StreamId expected = name == "receive_input"       ? kReceiveStream
                              : name == "send_gradient"     ? kSendStream
                              : name == "reduce_2"          ? collective_stream(GroupKind::kEmbedding)
                              : name.starts_with("reduce_") ? collective_stream(GroupKind::kData)
                                                            : kComputeStream;
    EXPECT_EQ(instruction.stream, expected) << name;
  }
  EXPECT_THAT(seen, Contains("receive_input"));
  EXPECT_THAT(seen, Contains("send_gradient"));
  EXPECT_THAT(seen, Contains("reduce_0"));
  EXPECT_THAT(seen, Contains("reduce_2"));  // the tied word embeddings
}

}  // namespace
}  // namespace nadi::inline describe
