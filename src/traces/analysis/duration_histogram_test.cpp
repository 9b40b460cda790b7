#include "nadi/analysis/duration_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(DurationHistogram, BinsBeginAtOneTwoAndFive) {
  const auto timeline = timeline_for_tests({{.id = 1, .start = 10, .end = 10},
                                            {.id = 2, .start = 10, .end = 11},
                                            {.id = 3, .start = 20, .end = 24},
                                            {.id = 4, .start = 30, .end = 35},
                                            {.id = 5, .start = 40, .end = 49},
                                            {.id = 6, .start = 50, .end = 60, .type = NodeType::kMemLoad},
                                            {.id = 7, .start = 1, .end = 900, .host = true}});
  DurationHistogram durations;
  durations.add(*timeline);
  std::vector<std::string> bins;
  for (const DurationBin& bin : durations.bins())
    bins.push_back(std::string(to_string(bin.activity)) + " " + std::to_string(bin.from.count()) + " " +
                   std::to_string(bin.to.count()) + " " + std::to_string(bin.nodes) + " " +
                   std::to_string(bin.time.count()));
  EXPECT_THAT(bins, testing::ElementsAre("compute 0 1 1 0", "compute 1 2 1 1", "compute 2 5 1 4",
                                         "compute 5 10 2 14", "memory 10 20 1 10"));
}

TEST(DurationHistogram, EveryNodeIsInOneBin) {
  const auto timeline = timeline_for_tests(random_device_nodes(7, 500, 100'000));
  DurationHistogram durations;
  durations.add(*timeline);
  std::int64_t nodes = 0;
  Nanoseconds time, sum;
  for (const DurationBin& bin : durations.bins()) {
    EXPECT_GE(bin.time.count(), bin.from.count() * bin.nodes);
    EXPECT_LT(bin.time.count(), bin.to.count() * bin.nodes);
    nodes += bin.nodes;
    time += bin.time;
  }
  for (std::uint32_t row = 0; row < timeline->size(); ++row) sum += timeline->duration(row);
  EXPECT_EQ(nodes, 500);
  EXPECT_EQ(time, sum);
}

}  // namespace
}  // namespace nadi::inline traces
