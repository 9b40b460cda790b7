#include "nadi/analysis/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

struct HeadlineRank {
  std::vector<NodeForTests> nodes;
  std::string batch = {};  // global_batch_size
};

Headline headline_for(const std::vector<HeadlineRank>& ranks) {
  RunAnalysis run;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto trace = trace_for_tests(ranks[rank].nodes);
    if (!ranks[rank].batch.empty()) {
      trace->metadata.attributes.add_text("global_batch_size", ranks[rank].batch);
      trace->metadata.attributes.add_int64("seq_length", 128);
    }
    add_rank(run, {.trace = *trace, .file = "t.et", .rank = static_cast<std::int64_t>(rank)}, {});
  }
  finish(run);
  return headline_of(run);
}

NodeForTests step_node(std::uint64_t id, std::int64_t step, std::int64_t start, std::int64_t end) {
  return {.id = id, .start = start, .end = end, .more = [step](TraceNode& node) {
            node.attributes.add_int64("step", step);
            add_num_ops(node, Flops{1000});
          }};
}

TEST(Headline, AStepIsThatOfTheSlowestRankAndTheMedianCounts) {
  // Steps of 100, 300 and 200 ns on rank 0; rank 1 takes 250 for the last.
  const Headline headline = headline_for(
      {{.nodes = {step_node(1, 0, 1000, 1100), step_node(2, 1, 1100, 1400), step_node(3, 2, 1400, 1600)},
        .batch = "8"},
       {.nodes = {step_node(1, 0, 1000, 1050), step_node(2, 1, 1100, 1300), step_node(3, 2, 1400, 1650)}}});
  EXPECT_EQ(headline.steps, 3);
  EXPECT_EQ(headline.step_time, Nanoseconds{250});
  EXPECT_EQ(headline.shortest_step, Nanoseconds{100});
  EXPECT_EQ(headline.longest_step, Nanoseconds{300});
  EXPECT_EQ(headline.samples, 8);
  EXPECT_EQ(headline.tokens, 1024);
  EXPECT_DOUBLE_EQ(*headline.steps_per_second(), 4e6);
  EXPECT_DOUBLE_EQ(*headline.tokens_per_second(), 1024 * 4e6);
  // 6000 FLOP in 600 ns of one device and 650 of the other.
  EXPECT_EQ(headline.device_time, Nanoseconds{1250});
  EXPECT_DOUBLE_EQ(*headline.flops_per_second, 6000 / 1250e-9);
}

TEST(Headline, LossesAreTheLargestFirstAndCommunicationHasItsNameWithoutPartners) {
  const Headline headline =
      headline_for({{.nodes = {{.id = 1, .start = 1000, .end = 1100},
                               {.id = 2,
                                .start = 1100,
                                .end = 1300,
                                .type = NodeType::kCommColl,
                                .more = collective_for_tests(CollectiveType::kAllReduce, 10, 1)},
                               {.id = 3, .start = 1350, .end = 1400}}}});
  ASSERT_EQ(headline.losses.size(), 2);
  EXPECT_EQ(headline.losses[0].cause, LossCause::kCommunication);
  EXPECT_EQ(headline.losses[0].time, Nanoseconds{200});
  EXPECT_EQ(headline.losses[1].cause, LossCause::kUnknownIdle);
  EXPECT_EQ(headline.losses[1].time, Nanoseconds{50});
  // Nodes name no step: the whole trace.
  EXPECT_EQ(headline.steps, 0);
  EXPECT_EQ(headline.step_time, Nanoseconds{400});
  EXPECT_EQ(headline.steps_per_second(), std::nullopt);
}

TEST(Headline, NothingIsMadeUp) {
  const Headline headline = headline_for({{.nodes = {{.id = 1}}, .batch = "eight"}});
  EXPECT_EQ(headline.step_time, Nanoseconds{0});
  EXPECT_EQ(headline.samples, std::nullopt);
  EXPECT_EQ(headline.tokens_per_second(), std::nullopt);
  EXPECT_EQ(headline.flops_per_second, std::nullopt);
  EXPECT_TRUE(headline.losses.empty());
}

}  // namespace
}  // namespace nadi::inline traces
