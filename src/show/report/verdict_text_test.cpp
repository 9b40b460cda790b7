#include "nadi/report/verdict_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const std::vector<std::vector<NodeForTests>>& ranks) {
  RunAnalysis run;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto trace = trace_for_tests(ranks[rank]);
    add_rank(run, {.trace = *trace, .file = "t.et", .rank = static_cast<std::int64_t>(rank)}, {});
  }
  finish(run);
  return verdict_lines(run);
}

std::function<void(TraceNode&)> op(std::string_view kind, std::int64_t flops) {
  return [=](TraceNode& node) {
    node.attributes.add_text("op", kind);
    add_num_ops(node, Flops{flops});
  };
}

NodeForTests all_reduce(std::uint64_t id, std::int64_t start, std::int64_t end) {
  return {.id = id,
          .name = "reduce",
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .more = collective_for_tests(CollectiveType::kAllReduce, 100, 3)};
}

// Ten kernels of 9 us, 100 us apart and launched 2 us before they start: of 909 us the GPU is idle 9 * 91.
TEST(AnalyzeVerdict, HostBound) {
  std::vector<NodeForTests> nodes;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::int64_t start = 1'000'000 + 100'000 * static_cast<std::int64_t>(i);
    nodes.push_back({.id = 2 * i,
                     .name = "cudaLaunchKernel",
                     .start = start - 2000,
                     .end = start + 10'000,
                     .host = true});
    nodes.push_back(
        {.id = 2 * i + 1, .name = "gemm", .start = start, .end = start + 9000, .data = {2 * i}, .stream = 7});
  }
  EXPECT_THAT(
      lines_of({nodes}),
      ElementsAre("host-bound: the GPU is idle 90.1% of the time, 100.0% of it because launches came too "
                  "late",
                  "of 909 us: compute 9.9%, idle 90.1%",
                  "10 of 10 kernels ran shorter than the call that launched them; the host's costliest "
                  "op is cudaLaunchKernel, 100.0% of its time"));
}

TEST(AnalyzeVerdict, ComputeBoundOnACpu) {
  // 80 us of matrix products at 2 FLOP/ns, 15 of gelu, 5 of nothing.
  EXPECT_THAT(
      lines_of({{{.id = 1, .start = 1000, .end = 81'000, .more = op("matmul", 160'000)},
                 {.id = 2, .start = 81'000, .end = 91'000, .more = op("gelu", 10'000)},
                 {.id = 3, .start = 96'000, .end = 101'000, .more = op("gelu", 5000)}}}),
      ElementsAre("compute-bound: the CPU computes 95.0% of the time, mainly matrix products (84.2% of the "
                  "time of all ops)",
                  "of 100 us: compute 95.0%, idle 5.0%",
                  "ops: matrix product 84.2% at 2.00 GFLOP/s, elementwise 15.8% at 1.00 GFLOP/s"));
}

// Communication in the background takes longest, and yet is not what the CPU computes.
TEST(AnalyzeVerdict, HiddenCommunicationIsNoComputation) {
  EXPECT_EQ(
      lines_of({{{.id = 1, .start = 1000, .end = 11'000, .more = op("gelu", 10)},
                 all_reduce(2, 1000, 10'000),
                 all_reduce(3, 1000, 10'000)}})[0],
      "compute-bound: the CPU computes 100.0% of the time, mainly elementwise work (35.7% of the time of all "
      "ops)");
}

TEST(AnalyzeVerdict, OneRankCannotTellWaitingFromTransfer) {
  EXPECT_EQ(
      lines_of({{{.id = 1, .start = 1000, .end = 2000}, all_reduce(2, 2000, 11'000)}})[0],
      "communication-bound: 90.0% of the time nothing but communication goes on; with one rank, waiting for "
      "others cannot be told from transfer");
}

TEST(AnalyzeVerdict, ALateRank) {
  EXPECT_THAT(
      lines_of({{{.id = 1, .start = 1000, .end = 3000}, all_reduce(2, 3000, 11'000)},
                {{.id = 1, .start = 1000, .end = 3000}, all_reduce(2, 3000, 11'000)},
                {{.id = 1, .start = 1000, .end = 10'000}, all_reduce(2, 10'000, 11'000)}}),
      ElementsAre("straggler-bound: 56.7% of the time nothing but communication goes on, 82.4% of it "
                  "waiting for a rank that comes late",
                  "of 30.0 us on 3 ranks: compute 43.3%, transfer 10.0%, waiting for a late rank 46.7%, "
                  "idle 0.0%",
                  "rank 2 came last in 1 of 1 collective and let the others wait 14.0 us in all"));
}

TEST(AnalyzeVerdict, WithoutTimes) {
  EXPECT_THAT(
      lines_of({{{.id = 1, .more = op("matmul", 2000)}, {.id = 2, .data = {1}, .more = op("add", 10)}}}),
      ElementsAre("not timed: the trace says what is to be done, and not how long it takes",
                  "1 rank: 2 nodes that compute",
                  "the longest chain of dependencies has 2 nodes, the heaviest 2.01 kFLOP; for times, trace "
                  "a run"));
}

TEST(AnalyzeVerdict, HostOnly) {
  EXPECT_THAT(
      lines_of({{{.id = 1, .name = "aten::addmm", .start = 1000, .end = 4000, .host = true},
                 {.id = 2, .name = "aten::gelu", .start = 4000, .end = 5000, .data = {1}, .host = true}}}),
      ElementsAre("host only: nothing ran on a GPU; the host's ops are mainly matrix products (75.0% of "
                  "their time)",
                  "ops: matrix product 75.0%, elementwise 25.0%",
                  "the host's costliest op is aten::addmm, 75.0% of its time"));
}

}  // namespace
}  // namespace nadi::inline show
