#include "nadi/job_log/setting_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/job_log/job_log.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeLog node_with(std::string name, std::vector<PrintedSetting> settings) {
  NodeLog node{.name = std::move(name), .settings = std::move(settings)};
  node.out.path = node.name + ".out";
  return node;
}

const SettingRow& row_of(const std::vector<SettingRow>& rows, std::string_view name) {
  for (const SettingRow& row : rows)
    if (row.name == name) return row;
  throw std::out_of_range(std::string(name));
}

// n1 was left out of the second start, in which n3 is the second node.
TEST(SettingComparison, NodesOfEarlierStartsAreNotCompared) {
  JobLog log;
  log.nodes = {node_with("n1", {{"MASTER_ADDR", "n1", 2}}), node_with("n2", {{"MASTER_ADDR", "n2", 9}}),
               node_with("n3", {{"MASTER_ADDR", "n2", 2}})};
  log.nodes[0].starts = {{.line = 1, .restarts = 0}};
  log.nodes[1].starts = {{.line = 1, .restarts = 0}, {.line = 8, .restarts = 1}};
  log.nodes[2].starts = {{.line = 1, .restarts = 1}};
  EXPECT_FALSE(is_of_newest_start(log, log.nodes[0]));
  EXPECT_TRUE(is_of_newest_start(log, log.nodes[1]));
  EXPECT_FALSE(row_of(compare_settings(log, {}), "MASTER_ADDR").differs);
  for (NodeLog& node : log.nodes) node.starts = {{.line = 1}};
  EXPECT_TRUE(row_of(compare_settings(log, {}), "MASTER_ADDR").differs) << "starts are not marked";
}

TEST(SettingComparison, OneRowForAllNames) {
  JobLog log;
  log.nodes = {
      node_with("n060", {{"MICRO_BATCH_SIZE", "4", 3}, {"NODE_RANK", "0", 1}}),
      node_with("n061",
                {{"MICRO_BATCH_SIZE", "4", 3}, {"micro_batch_size", "2", 40}, {"NODE_RANK", "1", 1}})};
  const std::vector<SettingRow> rows =
      compare_settings(log, {{"micro-batch", "7"}, {"MICRO_BATCH_SIZE", "4", "job.json"}});
  EXPECT_EQ(rows[0].name, "micro-batch");
  EXPECT_THAT(rows[0].in_effect, IsEmpty());
  EXPECT_FALSE(rows[0].differs) << "nobody printed it";
  const SettingRow& row = row_of(rows, "MICRO_BATCH_SIZE");
  EXPECT_TRUE(row.differs);
  EXPECT_EQ(row.where, "job.json");
  ASSERT_EQ(row.in_effect.size(), 2U);
  EXPECT_THAT(row.in_effect[0].nodes, ElementsAre("n060", "n061"));
  EXPECT_EQ(row.in_effect[1].printed_as, "micro_batch_size");
  EXPECT_EQ(row.in_effect[1].file, "n061.out");
  EXPECT_EQ(row.in_effect[1].line, 40);
  EXPECT_FALSE(row_of(rows, "NODE_RANK").differs) << "of each node its own";
}

TEST(SettingComparison, NodesThatDisagree) {
  JobLog log;
  log.nodes = {node_with("a", {{"GLOBAL_BATCH_SIZE", "16", 3}, {"PID", "4", 4}}),
               node_with("b", {{"GLOBAL_BATCH_SIZE", "32", 3}, {"PID", "5", 4}})};
  const std::vector<SettingRow> rows = compare_settings(log, {});
  EXPECT_TRUE(row_of(rows, "GLOBAL_BATCH_SIZE").differs) << "without being asked for";
  EXPECT_FALSE(row_of(rows, "PID").differs);
}

TEST(SettingComparison, EqualValues) {
  EXPECT_TRUE(same_setting("1e-4", "0.0001"));
  EXPECT_TRUE(same_setting("\"gpt2\"", "gpt2"));
  EXPECT_TRUE(same_setting("true", "True"));
  EXPECT_TRUE(same_setting("data/text", "['data/text']"));
  EXPECT_TRUE(same_setting("0", "[0]"));
  EXPECT_TRUE(same_setting("unfused", "AttnBackend.unfused"));
  EXPECT_FALSE(same_setting("fused", "AttnBackend.unfused"));
  EXPECT_FALSE(same_setting("5", "0.5"));
  EXPECT_FALSE(same_setting("0", "[0, 1]"));
  EXPECT_FALSE(same_setting("16", "16M"));
  EXPECT_FALSE(same_setting("true", "1"));
  EXPECT_FALSE(same_setting("", "0"));
}

TEST(SettingComparison, ModelsAndPartitionsHaveSeveralForms) {
  const auto differs = [](const std::string& name, const std::string& asked, const std::string& printed) {
    JobLog log;
    log.nodes.push_back({.name = "n1"});
    log.nodes[0].settings.push_back({.name = name, .value = printed, .line = 1});
    return compare_settings(log, {{.name = name, .value = asked}}).front().differs;
  };
  EXPECT_FALSE(differs("MODEL", "xl", "gpt2-xl"));
  EXPECT_FALSE(differs("MODEL", "small", "gpt2"));
  EXPECT_TRUE(differs("MODEL", "small", "gpt2-xl"));
  EXPECT_FALSE(differs("MODEL", "../a/tiny.json", "/home/a/tiny.json"));
  EXPECT_TRUE(differs("MODEL", "tiny.json", "/home/a/other.json"));
  EXPECT_FALSE(differs("PARTITION", "[0, 11, 8, 5]", "0-11-8-5"));
  EXPECT_FALSE(differs("PARTITION", "1-11-8-6", "0-11-8-5"));  // embedding and head count there
  EXPECT_TRUE(differs("PARTITION", "0-11-8-5", "0-10-9-5"));
  EXPECT_TRUE(differs("PARTITION", "gpu2", "gpu4"));
}

}  // namespace
}  // namespace nadi::inline jobs
