#include "nadi/plan/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline predict {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFleetCluster = R"({
  "name": "mixed",
  "nodes": [{"name": "big", "count": 1, "device": "a100-40gb", "devices": 2, "price": "8 $/h",
             "inside": {"kind": "nvlink", "bandwidth": "300 GB/s", "latency": "2 us"}},
            {"name": "small", "count": 1, "device": "a10", "devices": 2, "price": "2 $/h",
             "inside": {"kind": "pcie", "bandwidth": "16 GB/s", "latency": "5 us"}}],
  "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "bandwidth": "10 Gbit/s", "latency": "20 us"}}]
})";

Fleet fleet_of(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder.path() / "mixed.json", kFleetCluster);
  write_text(folder.path() / "fleet.json", text);
  return read_fleet(folder.path() / "fleet.json");
}

std::string problem_of_fleet(const std::string& text) {
  try {
    fleet_of(text);
  } catch (const Error& error) {
    return std::string(error.what()) + " " + error.hint();
  }
  return "";
}

TEST(FleetFile, HasTheMostNodesOfEachKind) {
  const Fleet fleet = fleet_of(
      R"({"cluster": "mixed.json", "nodes": {"small": {"most": 3}, "big": {"fewest": 1, "most": 2}}})");
  EXPECT_EQ(fleet.cluster.nodes, (std::vector<std::int32_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(fleet.cluster.levels[0].members, 5);
  ASSERT_EQ(fleet.choices.size(), 2u);
  EXPECT_EQ(fleet.choices[0].fewest, 1);
  EXPECT_EQ(fleet.choices[0].most, 2);
  EXPECT_EQ(fleet.choices[1].fewest, 0);
  EXPECT_EQ(fleet.choices[1].most, 3);
}

TEST(FleetFile, TakesAClusterWithinAndKeepsKindsThatItDoesNotName) {
  const Fleet fleet =
      fleet_of(R"({"cluster": )" + std::string(kFleetCluster) + R"(, "nodes": {"big": {"most": 2}}})");
  EXPECT_EQ(fleet.cluster.name, "mixed");
  EXPECT_EQ(fleet.choices[1].fewest, 1);
  EXPECT_EQ(fleet.choices[1].most, 1);
}

TEST(FleetChoice, StepsKeepBothEnds) {
  EXPECT_EQ(counts_of({.fewest = 0, .most = 3}), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(counts_of({.fewest = 0, .most = 7, .step = 3}), (std::vector<std::int32_t>{0, 3, 6, 7}));
  EXPECT_EQ(counts_of({.fewest = 2, .most = 2}), (std::vector<std::int32_t>{2}));
}

TEST(PartsOfACluster, AreAllOrAGridOfThem) {
  Cluster cluster =
      fleet_of(R"({"cluster": "mixed.json", "nodes": {"big": {"most": 99}, "small": {"most": 9}}})").cluster;
  const Fleet all = parts_of(cluster, 1000);  // 100 x 10
  EXPECT_EQ(all.choices[0].step, 1);
  EXPECT_EQ(all.choices[1].step, 1);
  const Fleet grid = parts_of(cluster, 200);
  EXPECT_LE(counts_of(grid.choices[0]).size() * counts_of(grid.choices[1]).size(), 200u);
  EXPECT_EQ(grid.choices[1].step, 1) << "the kind with most nodes gives way";
  EXPECT_EQ(counts_of(grid.choices[0]).back(), 99);
}

TEST(FleetFile, RefusesWhatItDoesNotKnow) {
  const auto refused = [](const std::string& text, const char* message) {
    const std::string problem = problem_of_fleet(text);
    EXPECT_FALSE(problem.empty()) << text;
    EXPECT_THAT(problem, HasSubstr(message)) << text;
  };
  refused("[]", "a fleet is a JSON object");
  refused("{", "");
  refused(R"({"cluster": "mixed.json"})", "nodes");
  refused(R"({"cluster": "mixed.json", "nodes": {"smal": {"most": 3}}})", "did you mean 'small'?");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": 3}})", "the fewest and the most nodes");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"mots": 3}}})", "did you mean 'most'?");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"most": -1}}})", "from 0 to 65536");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"most": 99999999999}}})", "from 0 to 65536");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"fewest": 4, "most": 3}}})", "at most 3");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"most": 0}, "big": {"most": 0}}})",
          "without nodes");
  refused(R"({"cluster": "mixed.json", "nodes": {"small": {"most": 60000}, "big": {"most": 60000}}})",
          "3.6e+09 mixes of nodes; the limit is 10000");
  refused(R"({"cluster": "mixed.json", "fleet": 1, "nodes": {}})", "fleet");
  refused(R"({"cluster": "a10-8x44", "nodes": {}})", "unknown cluster 'a10-8x44'");
  std::string alone(kFleetCluster.substr(0, kFleetCluster.find(",\n  \"levels\"")));
  alone.replace(alone.find(R"("count": 1)"), 10, R"("count": 0)");
  refused(R"({"cluster": )" + alone + R"(}, "nodes": {"small": {"most": 2}}})", "no fabric between nodes");
}

PlanQuestion front_question() {
  return {.config = *find_built_in_model("gpt2"), .cluster = *find_cluster("a100x1-a10x7")};
}

// `count` nodes of four A10 for 9.77 dollars an hour each.
RankedPlan front_plan(std::int32_t count, std::int64_t nanoseconds) {
  RankedPlan plan;
  plan.candidate.nodes = {{.kind = 1, .count = count, .devices = 4}};
  plan.simulated = Nanoseconds{nanoseconds};
  return plan;
}

// Money is nodes times time: 4 x 10, 3 x 12 = 36, 2 x 19 = 38 and 1 x 30.
TEST(ConfirmedFront, HasWhatNoOtherBeatsInBoth) {
  const ConfirmedFront front = confirmed_front(
      front_question(),
      {front_plan(1, 30'000), front_plan(4, 10'000), front_plan(2, 19'000), front_plan(3, 12'000)},
      [](std::int64_t, std::int64_t) { return true; });
  ASSERT_EQ(front.best.size(), 3u);
  EXPECT_EQ(front.best[0].candidate.nodes[0].count, 4);
  EXPECT_EQ(front.best[1].candidate.nodes[0].count, 3);
  EXPECT_EQ(front.best[2].candidate.nodes[0].count, 1);
  ASSERT_EQ(front.behind.size(), 1u);
  EXPECT_EQ(front.behind[0].candidate.nodes[0].count, 2);
}

TEST(ConfirmedFront, OfEqualsTheFirst) {
  const ConfirmedFront front = confirmed_front(front_question(), {front_plan(2, 5'000), front_plan(2, 5'000)},
                                               [](std::int64_t, std::int64_t) { return true; });
  EXPECT_EQ(front.best.size(), 1u);
  EXPECT_EQ(front.behind.size(), 1u);
}

}  // namespace
}  // namespace nadi::inline predict
