// Traces of plans as `nadi trace` writes them must be found right, and each change of them must be found.
#include "nadi/check/rank_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/check/check_traces.h"
#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void write_plan(const Plan& plan, const std::filesystem::path& prefix, TraceFlavor flavor) {
  StepRequest request{.seq_length = 8};
  request.batch_size = plan.micro_batches;
  std::vector<Program> programs;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage)
    programs.push_back(build_step(even_model(), request, plan, stage));
  std::vector<const Program*> pointers;
  for (const Program& program : programs) pointers.push_back(&program);
  write_rank_traces(plan, pointers, prefix, {.flavor = flavor});
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& prefix, std::int64_t ranks) {
  std::vector<std::filesystem::path> files;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    files.emplace_back(prefix.string() + "." + std::to_string(rank) + ".et");
  return files;
}

// Rules that are errors or warnings, with how often they were found.
std::map<std::string, std::uint64_t> problems(const CheckReport& report) {
  std::map<std::string, std::uint64_t> found;
  for (const auto& [id, entry] : report.findings.by_rule())
    if (entry.rule->severity != Severity::kNote) found[std::string(id)] = entry.findings;
  return found;
}

TEST(RankCheck, PlansOfOursAreRight) {
  const std::vector<std::pair<const char*, Plan>> plans{
      {"tp2", {.tp = 2}},
      {"cp2", {.cp = 2}},
      {"pp4", {.pp = 4, .schedule = ScheduleKind::kGPipe, .micro_batches = 4}},
      {"interleaved",
       {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4}},
      {"zero1", {.dp = 2, .zero_stage = 1, .micro_batches = 2}},
      {"all",
       {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 2}}};
  const TemporaryFolder folder;
  for (const auto& [name, plan] : plans) {
    SCOPED_TRACE(name);
    write_plan(plan, folder / name, TraceFlavor::kChakra);
    const CheckReport report = check_traces(files_of(folder / name, plan.world_size()), {});
    EXPECT_TRUE(problems(report).empty()) << testing::PrintToString(problems(report));
    EXPECT_EQ(report.runs, 1u);
    write_plan(plan, folder / (std::string(name) + "_sim"), TraceFlavor::kAstraSim);
    const CheckReport for_simulators =
        check_traces(files_of(folder / (std::string(name) + "_sim"), plan.world_size()), {});
    for (const CheckedFile& file : for_simulators.files)
      for (const SimulatorVerdict& verdict : file.verdicts)
        EXPECT_TRUE(verdict.takes()) << verdict.simulator << ": " << verdict.refusals[0].what;
  }
}

TEST(RankCheck, FilesForAstraSimLoseNothingInItsOlderFeeder) {
  const TemporaryFolder folder;
  const Plan plan{.tp = 2, .pp = 2, .micro_batches = 2};
  write_plan(plan, folder / "a", TraceFlavor::kAstraSim);
  const CheckReport report =
      check_traces(files_of(folder / "a", 4), {.simulators = {"astra-sim", "astra-sim-2024"}});
  EXPECT_TRUE(problems(report).empty());
  for (const SimulatorPoint& remark : report.files[0].verdicts[2].remarks)
    EXPECT_THAT(remark.what, testing::Not(HasSubstr("control dependencies only")));
}

// Each way of making a plan of two pipeline stages of two ranks wrong.
class ChangedPlan : public testing::Test {
 protected:
  static constexpr std::int64_t kRanks = 4;

  ChangedPlan() { write_plan({.tp = 2, .pp = 2, .micro_batches = 2}, folder_ / "run", TraceFlavor::kChakra); }

  std::filesystem::path file(std::int64_t rank) const {
    return files_of(folder_ / "run", kRanks)[static_cast<std::size_t>(rank)];
  }

  // Rewrites the trace of a rank; `change` returns false for nodes to leave out.
  void rewrite(std::int64_t rank, const std::function<bool(TraceNode&)>& change) {
    const Trace trace = read_chakra(file(rank), {.missing_parents = MissingParents::kDrop});
    Trace changed;
    for (const TraceAttribute& attribute : trace.metadata.attributes)
      changed.metadata.attributes.add_copy(attribute);
    TraceNode node;
    for (std::size_t row = 0; row < trace.size(); ++row) {
      trace.get(row, node);
      if (change(node)) changed.add(node);
    }
    write_trace(file(rank), changed);
  }
  // Leaves out the nth node of a type, counted from 1, and what depends on it no longer does.
  void drop(std::int64_t rank, NodeType type, int nth) {
    std::optional<TraceNodeId> gone;
    rewrite(rank, [&](TraceNode& node) {
      if (node.type == type && --nth == 0) {
        gone = node.id;
        return false;
      }
      if (gone) {
        std::erase(node.data_deps, *gone);
        std::erase(node.ctrl_deps, *gone);
      }
      return true;
    });
  }
  void change_attribute(std::int64_t rank, NodeType type, std::string_view name, std::int64_t by) {
    bool done = false;
    rewrite(rank, [&](TraceNode& node) {
      if (done || node.type != type || node.attributes.find(name) == nullptr) return true;
      TraceAttributes attributes;
      for (const TraceAttribute& attribute : node.attributes) {
        TraceAttribute copy = attribute;
        if (attribute.name == name) copy.bits += static_cast<std::uint64_t>(by);
        attributes.add_copy(copy);
      }
      node.attributes = std::move(attributes);
      done = true;
      return true;
    });
  }

  CheckReport check() const { return check_traces(files_of(folder_ / "run", kRanks), {}); }

  const TemporaryFolder folder_;
};

TEST_F(ChangedPlan, IsRightAsItIs) {
  EXPECT_TRUE(problems(check()).empty());
}

TEST_F(ChangedPlan, ACollectiveIsMissingOnOneRank) {
  drop(1, NodeType::kCommColl, 2);
  const CheckReport report = check();
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("collective-count", 1)));
  const Finding& finding =
      *std::ranges::find(report.findings.kept(), &rule::kCollectiveCount, &Finding::rule);
  EXPECT_THAT(finding.message, HasSubstr("of group '1'"));
  EXPECT_THAT(finding.file, HasSubstr("run."));
}

TEST_F(ChangedPlan, ACollectiveHasAnotherSize) {
  change_attribute(0, NodeType::kCommColl, attribute_name::kCommSize, 4);
  const CheckReport report = check();
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("collective-size", 1)));
}

TEST_F(ChangedPlan, ACollectiveIsAnother) {
  change_attribute(3, NodeType::kCommColl, attribute_name::kCommType, 2);  // all-gather instead of all-reduce
  const CheckReport report = check();
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("collective-type", 1)));
}

TEST_F(ChangedPlan, AReceiveIsMissing) {
  drop(2, NodeType::kCommRecv, 1);
  const CheckReport report = check();
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("send-without-receive", 1)));
  const Finding& finding =
      *std::ranges::find(report.findings.kept(), &rule::kSendWithoutReceive, &Finding::rule);
  EXPECT_EQ(finding.rank, 0);
  EXPECT_THAT(finding.message, HasSubstr("from rank 0 to rank 2 with tag"));
}

TEST_F(ChangedPlan, ASendIsMissing) {
  drop(3, NodeType::kCommSend, 1);
  EXPECT_THAT(problems(check()), ElementsAre(testing::Pair("receive-without-send", 1)));
}

TEST_F(ChangedPlan, AMessageHasAnotherSize) {
  change_attribute(0, NodeType::kCommSend, attribute_name::kCommSize, 1);
  EXPECT_THAT(problems(check()), ElementsAre(testing::Pair("message-size", 1)));
}

TEST_F(ChangedPlan, AMessageHasAnotherTag) {
  change_attribute(0, NodeType::kCommSend, attribute_name::kCommTag, 1000);
  EXPECT_THAT(problems(check()), ElementsAre(testing::Pair("receive-without-send", 1),
                                             testing::Pair("send-without-receive", 1)));
}

TEST_F(ChangedPlan, AMessageIsSentAsAnotherRank) {
  change_attribute(0, NodeType::kCommSend, attribute_name::kCommSrc, 1);
  const CheckReport report = check();
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("wrong-sender", 1)));
  EXPECT_FALSE(report.files[0].verdicts[0].takes());
}

TEST_F(ChangedPlan, ARankIsMissing) {
  std::vector<std::filesystem::path> files = files_of(folder_ / "run", kRanks);
  files.erase(files.begin() + 1);
  const CheckReport report = check_traces(files, {});
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("missing-rank", 1)));
  EXPECT_THAT(messages(report.findings, rule::kMissingRank), ElementsAre("no trace was given of rank 1"));
}

TEST_F(ChangedPlan, OneRankAloneIsNotRefused) {
  const CheckReport report = check_traces(std::vector{file(2)}, {});
  EXPECT_TRUE(problems(report).empty());
  EXPECT_EQ(report.runs, 0u);
}

TEST_F(ChangedPlan, TwoFilesAreOfOneRank) {
  std::filesystem::copy_file(file(0), file(1), std::filesystem::copy_options::overwrite_existing);
  const CheckReport report = check();
  EXPECT_EQ(found(report.findings, rule::kDuplicateRank), 1u);
  EXPECT_EQ(found(report.findings, rule::kWrongRank), 1u);
}

TEST_F(ChangedPlan, TheFileOfGroupsIsWrong) {
  write_text(folder_ / "run.groups.json", R"({"1": [0, 2], "2": [1, 3]})");
  EXPECT_GT(found(check().findings, rule::kNotInGroup), 0u);
  write_text(folder_ / "run.groups.json", R"({"7": [0, 1, 2, 3]})");
  EXPECT_GT(found(check().findings, rule::kUnknownGroup), 0u);
  EXPECT_FALSE(check().files[0].verdicts[0].takes());
  write_text(folder_ / "run.groups.json", R"({"1": [0, 1], "x": [2, 3]})");
  EXPECT_EQ(found(check().findings, rule::kGroupsFile), 1u);
  std::filesystem::remove(folder_ / "run.groups.json");
  EXPECT_EQ(found(check().findings, rule::kNoGroupsFile), 1u);
  EXPECT_TRUE(problems(check()).empty()) << "who takes part is then in it";
}

// Two ranks, three collectives each, in another order on one of them.
TEST(RankCheck, FindsCollectivesInAnotherOrder) {
  const TemporaryFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    Trace trace;
    TraceNode node;
    for (int i = 0; i < 3; ++i) {
      const int which = rank == 1 && i > 0 ? 3 - i : i;
      fill_node(node, {.id = static_cast<std::uint64_t>(i), .name = "c", .type = NodeType::kCommColl});
      add_is_cpu_op(node, false);
      add_comm_type(node, CollectiveType::kAllReduce);
      add_comm_size(node, Bytes{100 * (which + 1)});
      trace.add(node);
    }
    write_trace(folder / ("r." + std::to_string(rank) + ".et"), trace);
  }
  const CheckReport report = check_traces(files_of(folder / "r", 3), {});
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("collective-order", 1)));
  EXPECT_THAT(
      messages(report.findings, rule::kCollectiveOrder),
      ElementsAre("collective 2 of the group of all ranks is ALL_REDUCE of 300 bytes, and ALL_REDUCE of 200 "
                  "bytes on rank 0, node 1 'c'"));
  EXPECT_EQ(report.findings.kept().back().rule->severity, Severity::kError);
}

// Start times count, where they are: the second rank's nodes are in another order in its file only.
TEST(RankCheck, OrdersByTimeWhereThereIsTime) {
  const TemporaryFolder folder;
  for (int rank = 0; rank < 2; ++rank) {
    Trace trace;
    TraceNode node;
    for (int i = 0; i < 2; ++i) {
      const int which = rank == 1 ? 1 - i : i;
      fill_node(node, {.id = static_cast<std::uint64_t>(i),
                       .type = NodeType::kCommColl,
                       .start = 1000 * (which + 1),
                       .duration = 1000});
      add_is_cpu_op(node, false);
      add_comm_type(node, CollectiveType::kAllReduce);
      add_comm_size(node, Bytes{100 * (which + 1)});
      trace.add(node);
    }
    write_trace(folder / ("r." + std::to_string(rank) + ".et"), trace);
  }
  EXPECT_TRUE(problems(check_traces(files_of(folder / "r", 2), {})).empty());
}

// All-to-alls of different amounts may be meant; what comes behind them is compared all the same.
TEST(RankCheck, GoesOnBehindAnUnevenAllToAll) {
  const TemporaryFolder folder;
  for (int rank = 0; rank < 2; ++rank) {
    Trace trace;
    TraceNode node;
    for (const CollectiveType type : {CollectiveType::kAllToAll, CollectiveType::kAllReduce}) {
      fill_node(node, {.id = trace.size(), .type = NodeType::kCommColl});
      add_is_cpu_op(node, false);
      add_comm_type(node, type);
      add_comm_size(node, Bytes{100 + rank});
      trace.add(node);
    }
    write_trace(folder / ("r." + std::to_string(rank) + ".et"), trace);
  }
  const CheckReport report = check_traces(files_of(folder / "r", 2), {});
  EXPECT_EQ(found(report.findings, rule::kUnevenAllToAll), 1u);
  EXPECT_THAT(problems(report), ElementsAre(testing::Pair("collective-size", 1)));
}

TEST(RankCheck, SaysWhatCannotBeCompared) {
  const TemporaryFolder folder;
  Trace trace;
  TraceNode node;
  fill_node(node, {.id = 0, .type = NodeType::kCommColl});
  trace.add(node);
  fill_node(node, {.id = 1, .type = NodeType::kCommSend});
  trace.add(node);
  fill_node(node, {.id = 2, .type = NodeType::kCommRecv});
  add_comm_src(node, 1);
  trace.add(node);
  // A host op that only starts communication is not compared.
  fill_node(node, {.id = 3, .type = NodeType::kCommColl});
  add_is_cpu_op(node, true);
  trace.add(node);
  write_trace(folder / "r.0.et", trace);
  const CheckReport report = check_traces(files_of(folder / "r", 1), {});
  EXPECT_THAT(messages(report.findings, rule::kIncompleteCommunication),
              ElementsAre(HasSubstr("COMM_COLL without a known comm_type"),
                          HasSubstr("COMM_SEND without comm_dst"), HasSubstr("COMM_RECV without comm_size")));
}

}  // namespace
}  // namespace nadi::inline traces
