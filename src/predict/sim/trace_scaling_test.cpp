#include "nadi/sim/trace_scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/sim/cluster_for_tests.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi::inline predict {
namespace {

// Traces of all ranks of a plan, or of its first replica.
TraceSet traces_of(const Plan& plan, bool first_replica = false) {
  const StagePrograms programs(tiny_model(architecture_named("gpt2"), 4),
                               {.kind = StepKind::kTrain, .batch_size = plan.micro_batches, .seq_length = 8},
                               plan);
  std::set<GroupKind> kinds;
  for (const Program* program : programs.all()) kinds.merge(collective_groups(*program));
  const ProcessGroups groups(plan, kinds);
  TraceSet set;
  for (std::int32_t r = 0; r < plan.world_size(); ++r) {
    const Rank rank{r};
    if (first_replica && coordinates_of(plan, rank).dp > 0) continue;
    Trace trace;
    StepTracer tracer(programs.of(coordinates_of(plan, rank).pp), {.plan = &plan});
    TraceNode node;
    while (tracer.next(node)) {
      add_rank_attributes(node, tracer.binding(), plan, groups, rank);
      trace.add(node);
    }
    set.add(trace, r);
  }
  for (const GroupKind kind : kinds)
    for (std::int32_t r = 0; r < plan.world_size(); ++r) {
      const std::vector<Rank> members = group_members(plan, kind, Rank{r});
      if (members.size() < 2 || std::ranges::find(members, Rank{r}) == members.end()) continue;
      std::vector<std::int64_t> numbers;
      for (const Rank member : members) numbers.push_back(to_number(member));
      set.add_group(std::to_string(groups.number(kind, Rank{r})), numbers);
    }
  return set;
}

Nanoseconds time_of(const TraceSet& set, const TraceSimulationOptions& options = {}) {
  TraceSimulationOptions model = options;
  model.durations = TraceDurations::kModel;
  return simulate_traces(set, cluster_for_tests(4, 8), {}, model).iteration_time;
}

TraceDegrees degrees_of(const Plan& plan) {
  return {.tp = plan.tp, .cp = plan.cp, .dp = plan.dp, .pp = plan.pp};
}

// A run of 8 ranks as one of 16 takes what the plan with twice the replicas takes.
TEST(TraceScaling, MoreReplicasTakeWhatTheirPlanTakes) {
  const Plan few{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  Plan many = few;
  many.dp = 4;
  EXPECT_EQ(time_of(traces_of(few), {.ranks = 16, .degrees = degrees_of(few)}), time_of(traces_of(many)));
  EXPECT_EQ(time_of(traces_of(few, true), {.ranks = 16, .degrees = degrees_of(few)}),
            time_of(traces_of(many)));
  EXPECT_EQ(time_of(traces_of(many), {.ranks = 8, .degrees = degrees_of(many)}), time_of(traces_of(few)));
}

// Ranks 0 and 1 are replicas: an all-gather of 100 B from each is one of 50 B from each of four.
TEST(TraceScaling, PartsOfAGatherShrink) {
  TraceSet set;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    Trace trace;
    TraceNode node;
    node.type = NodeType::kCommColl;
    add_is_cpu_op(node, false);
    add_comm_type(node, CollectiveType::kAllGather);
    add_comm_size(node, Bytes{100});
    trace.add(node);
    set.add(trace, rank);
  }
  const TraceScaling scaling(set, {.dp = 2}, 4);
  EXPECT_EQ(scaling.size_of(CollectiveType::kAllGather, Bytes{100}, 3, 0), Bytes{50});
  EXPECT_EQ(scaling.size_of(CollectiveType::kAllReduce, Bytes{100}, 3, 0), Bytes{100});
  EXPECT_EQ(scaling.group_of(3, 0).members, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// Experts are shared by two replicas in a row; those with the same experts grow.
TEST(TraceScaling, ExpertsStayInTheirBlocks) {
  TraceSet set;
  set.add_group("1", {0, 1});
  set.add_group("2", {2, 3});
  set.add_group("3", {0, 2});
  set.add_group("4", {1, 3});
  const std::uint32_t blocks[] = {1, 1, 2, 2}, strides[] = {3, 4, 3, 4};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    Trace trace;
    for (const std::uint32_t group : {blocks[rank], strides[rank]}) {
      TraceNode node;
      node.id = TraceNodeId{group};
      node.type = NodeType::kCommColl;
      add_is_cpu_op(node, false);
      add_comm_type(node, CollectiveType::kAllToAll);
      add_comm_size(node, Bytes{64});
      add_process_group(node, group);
      trace.add(node);
    }
    set.add(trace, rank);
  }
  const TraceScaling scaling(set, {.dp = 4, .ep = 2}, 8);
  EXPECT_EQ(scaling.group_of(5, 0).members, (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(scaling.group_of(5, 1).members, (std::vector<std::uint32_t>{1, 3, 5, 7}));
  EXPECT_EQ(scaling.group_of(5, 0).name, scaling.group_of(4, 0).name);
  EXPECT_THROW(TraceScaling(set, {.dp = 4, .ep = 2}, 7), Error);
}

TEST(TraceScaling, RefusesWhatIsNotKnown) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  const TraceSet set = traces_of(plan);
  const auto message = [&](const TraceSimulationOptions& options, const TraceSet& traces) {
    try {
      time_of(traces, options);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_NE(message({.ranks = 16}, set).find("depends on the degrees"), std::string::npos);
  EXPECT_NE(
      message({.ranks = 10, .degrees = TraceDegrees{.tp = 4, .dp = 2}}, set).find("whole number of replicas"),
      std::string::npos);
  EXPECT_NE(message({.ranks = 16, .degrees = TraceDegrees{.tp = 4, .dp = 2}}, set).find("how it scales"),
            std::string::npos);
  // Groups of all ranks may be of replicas or of tensor ranks.
  EXPECT_NE(message({.ranks = 8}, traces_of({.dp = 4})).find("depends on the degrees"), std::string::npos);
  EXPECT_NE(message({.ranks = 8}, traces_of({.tp = 4})).find("depends on the degrees"), std::string::npos);
  Plan alone = plan;
  alone.dp = 1;
  EXPECT_NE(
      message({.ranks = 8, .degrees = degrees_of(alone)}, traces_of(alone)).find("no communication between"),
      std::string::npos);
  EXPECT_THROW(parse_trace_degrees("tp=2,xp=3", 8), Error);
  EXPECT_THROW(parse_trace_degrees("tp=3", 8), Error);
  EXPECT_EQ(parse_trace_degrees("tp=2,pp=2", 8), (TraceDegrees{.tp = 2, .dp = 2, .pp = 2}));
}

}  // namespace
}  // namespace nadi::inline predict
