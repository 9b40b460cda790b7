#include "nadi/trace/replay.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "nadi/base/error.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline traces {
namespace {

void add(Trace& trace, std::uint64_t id, std::int64_t start, std::int64_t duration,
         std::initializer_list<std::uint64_t> data_deps,
         std::initializer_list<std::uint64_t> ctrl_deps = {}) {
  TraceNode node;
  node.id = TraceNodeId{id};
  node.type = NodeType::kComp;
  node.start = Nanoseconds{start};
  node.duration = Nanoseconds{duration};
  for (const std::uint64_t parent : data_deps) node.data_deps.push_back(TraceNodeId{parent});
  for (const std::uint64_t parent : ctrl_deps) node.ctrl_deps.push_back(TraceNodeId{parent});
  trace.add(node);
}

std::vector<std::uint32_t> order_of(const Trace& trace) {
  const TraceDependencies dependencies(trace);
  return {dependencies.order().begin(), dependencies.order().end()};
}

TEST(Replay, ANodeStartsWhenTheLastThatItWaitsForHasEnded) {
  Trace trace;
  add(trace, 10, 1000, 5, {});
  add(trace, 11, 1000, 9, {});
  add(trace, 12, 1020, 3, {10}, {11});
  add(trace, 13, 1005, 30, {10});
  const Replay replay = replay_trace(trace, TraceDependencies(trace));
  EXPECT_EQ(replay.starts[2], Nanoseconds{9});
  EXPECT_EQ(replay.starts[3], Nanoseconds{5});
  EXPECT_EQ(replay.span, Nanoseconds{35});
  EXPECT_EQ(recorded_span(trace), Nanoseconds{35});
}

TEST(Replay, RowsMayComeBeforeThoseTheyWaitFor) {
  Trace trace;
  add(trace, 3, 0, 1, {2});
  add(trace, 2, 0, 4, {1});
  add(trace, 1, 0, 7, {});
  add(trace, 0, 0, 2, {});
  EXPECT_EQ(order_of(trace), (std::vector<std::uint32_t>{2, 1, 0, 3}));
  EXPECT_EQ(replay_trace(trace, TraceDependencies(trace)).span, Nanoseconds{12});
}

TEST(Replay, NothingTakesNoTime) {
  const Trace trace;
  EXPECT_EQ(replay_trace(trace, TraceDependencies(trace)).span, Nanoseconds{});
  EXPECT_EQ(recorded_span(trace), Nanoseconds{});
}

TEST(TraceDependencies, CountsEveryEdgeAndRefusesWhatCannotBeMet) {
  Trace trace;
  add(trace, 1, 0, 0, {});
  add(trace, 2, 0, 0, {1}, {1});
  EXPECT_EQ(TraceDependencies(trace).edges(), 2U);
  add(trace, 3, 0, 0, {4});
  EXPECT_THROW(TraceDependencies{trace}, Error);
  add(trace, 4, 0, 0, {3});
  EXPECT_THROW(TraceDependencies{trace}, Error);
}

}  // namespace
}  // namespace nadi::inline traces
