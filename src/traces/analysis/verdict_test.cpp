#include "nadi/analysis/verdict.h"

#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

RunAnalysis run_of(const std::vector<std::vector<NodeForTests>>& ranks) {
  RunAnalysis run;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto trace = trace_for_tests(ranks[rank]);
    add_rank(run, {.trace = *trace, .file = "t.et", .rank = static_cast<std::int64_t>(rank)}, {});
  }
  finish(run);
  return run;
}

Verdict verdict_of(const std::vector<std::vector<NodeForTests>>& ranks) {
  const RunAnalysis run = run_of(ranks);
  const Verdict verdict = judge(run);
  const RunTime& time = verdict.time;
  EXPECT_EQ(time.compute + time.communication() + time.copies + time.idle(), time.span);
  return verdict;
}

NodeForTests all_reduce(std::uint64_t id, std::int64_t start, std::int64_t end) {
  return {.id = id,
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .more = collective_for_tests(CollectiveType::kAllReduce, 100, 3)};
}

NodeForTests message(std::uint64_t id, NodeType type, std::int32_t peer, std::int64_t start,
                     std::int64_t end) {
  return {.id = id, .start = start, .end = end, .type = type, .more = [=](TraceNode& node) {
            if (type == NodeType::kCommSend)
              add_comm_dst(node, peer);
            else
              add_comm_src(node, peer);
          }};
}

TEST(Verdict, HostBound) {
  // Kernels of 10 with 90 between them, each launched 5 before it starts: of 310 the GPU is idle 270.
  std::vector<NodeForTests> nodes;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::int64_t start = 1000 + 100 * static_cast<std::int64_t>(i);
    nodes.push_back({.id = 2 * i, .start = start - 5, .end = start, .host = true});
    nodes.push_back({.id = 2 * i + 1, .start = start, .end = start + 10, .data = {2 * i}, .stream = 7});
  }
  const Verdict verdict = verdict_of({nodes});
  EXPECT_EQ(verdict.limit, Limit::kHost);
  EXPECT_EQ(verdict.time.span, Nanoseconds{310});
  EXPECT_EQ(verdict.time.late_launch, Nanoseconds{270});
  EXPECT_EQ(verdict.limit_share(), 270.0 / 310);
  EXPECT_EQ(verdict.cause_share(), 1);
}

TEST(Verdict, SynchronisationBound) {
  // The host waits for each kernel of 30 and launches the next one 65 later, which then starts 5 later.
  std::vector<NodeForTests> nodes;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::int64_t start = 1000 + 100 * static_cast<std::int64_t>(i);
    nodes.push_back({.id = 3 * i, .start = start - 5, .end = start, .host = true});
    nodes.push_back({.id = 3 * i + 1, .start = start, .end = start + 30, .data = {3 * i}, .stream = 7});
    nodes.push_back({.id = 3 * i + 2,
                     .start = start + 2,
                     .end = start + 5,
                     .data = {3 * i + 1},
                     .host = true,
                     .inclusive = 31});
  }
  const Verdict verdict = verdict_of({nodes});
  EXPECT_EQ(verdict.limit, Limit::kSynchronisation);
  EXPECT_EQ(verdict.time.synchronisation, Nanoseconds{140});
  EXPECT_EQ(verdict.time.compute, Nanoseconds{90});
}

TEST(Verdict, ComputeBound) {
  const Verdict verdict = verdict_of({{{.id = 1, .start = 100, .end = 190},
                                       {.id = 2, .start = 190, .end = 200, .type = NodeType::kMemLoad}}});
  EXPECT_EQ(verdict.limit, Limit::kCompute);
  EXPECT_EQ(verdict.limit_share(), 0.9);
}

TEST(Verdict, LessThanHalfIsNotComputeBound) {
  // 45 of computation, 40 of copies, 15 of nothing: computation takes longest, and yet copies are what to
  // mend.
  const Verdict verdict = verdict_of({{{.id = 1, .start = 100, .end = 145},
                                       {.id = 2, .start = 145, .end = 185, .type = NodeType::kMemLoad},
                                       {.id = 3, .start = 199, .end = 200, .type = NodeType::kMemLoad}}});
  EXPECT_EQ(verdict.limit, Limit::kCopies);
  EXPECT_EQ(verdict.limit_share(), 0.41);
}

TEST(Verdict, CopyBound) {
  const Verdict verdict = verdict_of({{{.id = 1, .start = 100, .end = 110},
                                       {.id = 2, .start = 110, .end = 200, .type = NodeType::kMemLoad}}});
  EXPECT_EQ(verdict.limit, Limit::kCopies);
  EXPECT_EQ(verdict.limit_share(), 0.9);
}

TEST(Verdict, IdleForUnknownReasons) {
  const Verdict verdict =
      verdict_of({{{.id = 1, .start = 100, .end = 110}, {.id = 2, .start = 190, .end = 200}}});
  EXPECT_EQ(verdict.limit, Limit::kUnknown);
  EXPECT_EQ(verdict.limit_share(), 0.8);
}

TEST(Verdict, CommunicationAndStragglers) {
  // Both ranks compute 10 and reduce 40.
  const Verdict transfer = verdict_of({{{.id = 1, .start = 100, .end = 110}, all_reduce(2, 110, 150)},
                                       {{.id = 1, .start = 100, .end = 110}, all_reduce(2, 110, 150)}});
  EXPECT_EQ(transfer.limit, Limit::kTransfer);
  EXPECT_EQ(transfer.limit_share(), 0.8);
  EXPECT_EQ(transfer.cause_share(), 1);
  // Rank 1 computes 40, rank 0 waits 30 of its 80: of 200 in all, 80 + 50 communicate, 30 of it waiting.
  const Verdict mixed = verdict_of({{{.id = 1, .start = 100, .end = 120}, all_reduce(2, 120, 200)},
                                    {{.id = 1, .start = 100, .end = 150}, all_reduce(2, 150, 200)}});
  EXPECT_EQ(mixed.limit, Limit::kTransfer);
  EXPECT_EQ(mixed.time.late_rank, Nanoseconds{30});
  EXPECT_EQ(mixed.time.transfer, Nanoseconds{100});
  // Rank 2 comes 70 late, and the others wait.
  const Verdict late = verdict_of({{{.id = 1, .start = 100, .end = 120}, all_reduce(2, 120, 200)},
                                   {{.id = 1, .start = 100, .end = 120}, all_reduce(2, 120, 200)},
                                   {{.id = 1, .start = 100, .end = 190}, all_reduce(2, 190, 200)}});
  EXPECT_EQ(late.limit, Limit::kLateRank);
  EXPECT_EQ(late.time.late_rank, Nanoseconds{140});
  EXPECT_EQ(late.limit_share(), 170.0 / 300);
  EXPECT_EQ(late.cause_share(), 140.0 / 170);
}

TEST(Verdict, PipelineBound) {
  // Stage 1 waits for what stage 0 sends, then stage 0 for the gradient.
  const Verdict verdict = verdict_of({{{.id = 1, .start = 100, .end = 140},
                                       message(2, NodeType::kCommSend, 1, 140, 141),
                                       message(3, NodeType::kCommRecv, 1, 141, 200)},
                                      {message(1, NodeType::kCommRecv, 0, 100, 145),
                                       {.id = 2, .start = 145, .end = 195},
                                       message(3, NodeType::kCommSend, 0, 195, 200)}});
  EXPECT_EQ(verdict.limit, Limit::kLateMessage);
  EXPECT_EQ(verdict.time.late_message, Nanoseconds{54 + 40});
  EXPECT_EQ(verdict.time.compute, Nanoseconds{90});
  EXPECT_EQ(verdict.time.transfer, Nanoseconds{1 + 5 + 5 + 5});
}

TEST(Verdict, WithoutTimesOrDevice) {
  EXPECT_EQ(verdict_of({{{.id = 1}, {.id = 2, .data = {1}}}}).limit, Limit::kNotTimed);
  EXPECT_EQ(verdict_of({{}}).limit, Limit::kNothing);
  EXPECT_EQ(verdict_of({{{.id = 1, .start = 1, .end = 3, .host = true}}}).limit, Limit::kHostOnly);
}

// Whatever the trace, the parts add up (verdict_of() looks), and no share is out of range.
TEST(Verdict, PartsOfRandomRunsAddUp) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<std::vector<NodeForTests>> ranks;
    for (std::uint64_t rank = 0; rank < 1 + seed % 4; ++rank)
      ranks.push_back(random_device_nodes(1000 * seed + rank, 40, 400));
    const Verdict verdict = verdict_of(ranks);
    EXPECT_GE(verdict.limit_share(), 0.5 / 3) << seed;  // half, or the largest of three
    EXPECT_LE(verdict.limit_share(), 1);
    EXPECT_LE(verdict.cause_share(), 1);
  }
}

}  // namespace
}  // namespace nadi::inline traces
