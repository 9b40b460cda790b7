#include "nadi/sim/measured_comparison.h"

#include <gtest/gtest.h>

#include "nadi/trace/common_attributes.h"

namespace nadi::inline predict {
namespace {

void add_kernel(Trace& trace, std::uint64_t id, std::string_view op, std::int64_t start,
                std::int64_t duration, std::optional<std::int64_t> fused_into = {}) {
  TraceNode node;
  node.id = TraceNodeId{id};
  node.name = op;
  node.type = op == "all_reduce" ? NodeType::kCommColl : NodeType::kComp;
  node.start = Nanoseconds{start};
  node.duration = Nanoseconds{duration};
  add_is_cpu_op(node, false);
  add_work(node, Flops{1000}, Bytes{1000});
  node.attributes.add_text("op", op);
  if (fused_into) node.attributes.add_int64("fused_into", *fused_into);
  trace.add(node);
}

NodeTime lasting(std::int64_t nanoseconds) {
  return {.start = Nanoseconds{1000}, .end = Nanoseconds{1000 + nanoseconds}};
}

// Two products of 100 and 200 ns, an update of 50 ns that does the work of two ops, and an all-reduce.
TEST(MeasuredComparison, ComparesKernelsOneByOne) {
  Trace trace;
  add_kernel(trace, 0, "matmul", 0, 100);
  add_kernel(trace, 1, "matmul", 100, 200);
  add_kernel(trace, 2, "adamw", 300, 50);
  add_kernel(trace, 3, "adamw", 350, 0, 2);
  add_kernel(trace, 4, "all_reduce", 350, 40);
  const std::vector<NodeTime> predicted{lasting(110), lasting(150), lasting(45), lasting(0), lasting(80)};
  const ComparedRank rank = compare_rank(trace, 0, predicted);
  EXPECT_EQ(rank.measured_step, Nanoseconds{390});
  EXPECT_EQ(rank.without_time, 0);

  const ComparisonResult result = summarize_comparison(std::span(&rank, 1));
  // 110/100, 150/200 and 45/50: errors of 10%, 25% and 10%.
  EXPECT_NEAR(result.median_error, 0.10, 1e-12);
  EXPECT_EQ(result.nodes, 3);
  ASSERT_EQ(result.kinds.size(), 3U);
  EXPECT_EQ(result.kinds[0].kind, "matmul");
  EXPECT_EQ(result.kinds[0].count, 2);
  EXPECT_NEAR(result.kinds[0].error(), 260.0 / 300 - 1, 1e-12);
  EXPECT_NEAR(result.kinds[0].median_error, (0.10 + 0.25) / 2, 1e-12);
  EXPECT_EQ(result.kinds[1].predicted, Nanoseconds{45});
  EXPECT_TRUE(result.kinds[2].communicates);
  EXPECT_EQ(result.computed_measured, Nanoseconds{350});
  EXPECT_EQ(result.computed_predicted, Nanoseconds{305});
  EXPECT_EQ(result.offenders.front().row, 1U);
  EXPECT_EQ(result.measured_iteration, Nanoseconds{390});
}

}  // namespace
}  // namespace nadi::inline predict
