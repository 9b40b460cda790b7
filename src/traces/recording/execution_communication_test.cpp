#include "nadi/recording/execution_communication.h"

#include <gtest/gtest.h>

#include <array>

#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"

namespace nadi::inline traces {
namespace {

CommunicationWork work_of_op(const Graph& graph, std::uint32_t op) {
  const Instruction instruction;
  const Section section{.name = "forward", .graph = 0, .first_op = 0, .end_op = op + 1};
  return communication_of({instruction, section, graph, graph.ops()[op]}).value();
}

// Among 4 ranks, of 8 x 8 numbers of 4 bytes each: 256 bytes.
TEST(ExecutionCommunication, CountsAsNcclTestsDoes) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{8, 8}, DType::kF32);
  const GroupArgs group{"tp", 4};
  all_reduce(b, {.x = x, .group = group});
  all_gather(b, x, group, 0);
  reduce_scatter(b, x, group, 0);
  broadcast(b, x, group, 1);
  reduce(b, x, group, 0);
  all_to_all(b, {.x = x, .group = group, .split_axis = 0, .concat_axis = 1});
  send(b, x, {.group = "pp", .peer = 1, .tag = 0});
  receive(b, Shape{8, 8}, DType::kBF16, {.group = "pp", .peer = 1, .tag = 0});
  const Graph graph = b.take();

  struct Expected {
    std::int64_t input, output, bytes;
    double bus_factor;
  };
  constexpr std::array kExpected{
      Expected{64, 64, 256, 2 * 3.0 / 4},  // each link carries 3/4 of it twice
      Expected{64, 256, 1024, 3.0 / 4},    // four such parts make the whole
      Expected{64, 16, 256, 3.0 / 4},      //
      Expected{64, 64, 256, 1},            // broadcast
      Expected{64, 64, 256, 1},            // reduce
      Expected{64, 64, 256, 3.0 / 4},      // all-to-all
      Expected{64, 64, 256, 1},            // send
      Expected{64, 64, 128, 1},            // receive, 2 bytes each
  };
  ASSERT_EQ(graph.ops().size(), kExpected.size());
  for (std::uint32_t op = 0; op < kExpected.size(); ++op) {
    SCOPED_TRACE(graph.ops()[op].name);
    const CommunicationWork work = work_of_op(graph, op);
    EXPECT_EQ(work.input_elements, kExpected[op].input);
    EXPECT_EQ(work.output_elements, kExpected[op].output);
    EXPECT_EQ(work.bytes, Bytes{kExpected[op].bytes});
    EXPECT_DOUBLE_EQ(work.bus_factor, kExpected[op].bus_factor);
    EXPECT_EQ(work.members, op < 6 ? 4 : 2);
    EXPECT_EQ(work.group, op < 6 ? GroupKind::kTensor : GroupKind::kPipeline);
    EXPECT_EQ(work.dtype, op < 7 ? DType::kF32 : DType::kBF16);
  }
}

TEST(ExecutionCommunication, ComputationIsNone) {
  const Program program = program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  EXPECT_EQ(communication_of(origin_of(program, step.kernels[0])), std::nullopt);
  EXPECT_TRUE(summarize_communication(program, std::span(&step, 1)).rows.empty());
}

TEST(ExecutionCommunication, BandwidthIsBytesOverTime) {
  EXPECT_EQ(algorithm_gb_per_second(Bytes{3000}, Nanoseconds{1500}), 2.0);
  EXPECT_EQ(algorithm_gb_per_second(Bytes{3000}, Nanoseconds{}), std::nullopt);
}

// In microseconds:      0    10   20   30   40   50
//   thread 0  product             15.20
//             sum                 20.........35
//   lane 1    receive   0....10
//             send                     25.............50
//   lane 2    all-reduce          20........30
TEST(ExecutionCommunication, ExposedIsWhatNoComputationHides) {
  const Program program = communicating_program_for_tests();
  const auto us = [](std::int64_t count) { return Nanoseconds{count * 1000}; };
  const ExecutedStep step{
      .end = us(60),
      .kernels = {{.op = OpId{0}, .start = us(0), .end = us(10), .stream = StreamId{1}},
                  {.op = OpId{1}, .start = us(15), .end = us(20)},
                  {.op = OpId{2}, .start = us(20), .end = us(30), .stream = StreamId{2}},
                  {.op = OpId{3}, .start = us(20), .end = us(35)},
                  {.op = OpId{4}, .start = us(25), .end = us(50), .stream = StreamId{1}}}};
  const CommunicationSummary summary = summarize_communication(program, std::span(&step, 1));
  ASSERT_EQ(summary.rows.size(), 3u);
  const auto [reduce, send, receive] = std::tie(summary.rows[0], summary.rows[1], summary.rows[2]);
  EXPECT_EQ(reduce.group, GroupKind::kData);
  EXPECT_EQ(reduce.kind, OpKind::kAllReduce);
  EXPECT_EQ(reduce.phase, Phase::kBackward);
  EXPECT_EQ(reduce.figures.calls, 1);
  EXPECT_EQ(reduce.figures.bytes, Bytes{4 * 8 * 4});
  EXPECT_EQ(reduce.figures.bus_bytes, Bytes{4 * 8 * 4});  // 2 (n - 1) / n = 1 for two ranks
  EXPECT_EQ(reduce.figures.time, us(10));
  EXPECT_EQ(reduce.figures.under_way, us(10));
  EXPECT_EQ(reduce.figures.exposed, us(0));
  EXPECT_EQ(send.kind, OpKind::kSend);
  EXPECT_EQ(send.figures.exposed, us(50 - 35));
  EXPECT_EQ(receive.kind, OpKind::kReceive);
  EXPECT_EQ(receive.figures.exposed, us(10));
  EXPECT_EQ(summary.gradients.time, us(10));
  // Together: 10 + 10 + 25 us of calls, under way from 0 to 10 and from 20 to 50.
  EXPECT_EQ(summary.total.calls, 3);
  EXPECT_EQ(summary.total.time, us(45));
  EXPECT_EQ(summary.total.under_way, us(40));
  EXPECT_EQ(summary.total.exposed, us(25));

  // Two steps are added up, not laid over one another.
  const std::array twice{step, step};
  EXPECT_EQ(summarize_communication(program, twice).total.exposed, us(50));
}

TEST(ExecutionCommunication, WhatTheComputingThreadCarriesItselfIsExposed) {
  const Program program = communicating_program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  const CommunicationSummary summary = summarize_communication(program, std::span(&step, 1));
  EXPECT_EQ(summary.total.time, kCallForTests * 3);
  EXPECT_EQ(summary.total.exposed, kCallForTests * 3);
}

}  // namespace
}  // namespace nadi::inline traces
