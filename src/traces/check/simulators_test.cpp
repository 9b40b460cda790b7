#include "nadi/check/simulators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Texts of what the simulators say about a trace of rank 1: ASTRA-sim, with a roofline, and before July 2025.
struct Said {
  std::vector<std::string> refusals, remarks, roofline_refusals, old_refusals, old_remarks;
};

Said ask(const Trace& trace, const GroupMembers* groups = nullptr,
         TraceFileKind kind = TraceFileKind::kChakra) {
  const CheckedTrace checked{.trace = &trace, .file = "t.1.et", .rank = 1};
  Findings findings(0);
  const StructureFacts structure = check_structure(checked, findings);
  const auto verdicts =
      ask_simulators({.checked = checked, .structure = structure, .kind = kind, .groups = groups});
  EXPECT_EQ(verdicts.size(), 3u);
  const auto texts = [](const std::vector<SimulatorPoint>& points) {
    std::vector<std::string> all;
    for (const SimulatorPoint& point : points) all.push_back(point.what);
    return all;
  };
  return {texts(verdicts[0].refusals), texts(verdicts[0].remarks), texts(verdicts[1].refusals),
          texts(verdicts[2].refusals), texts(verdicts[2].remarks)};
}

Said ask(const TraceNode& node, const GroupMembers* groups = nullptr) {
  Trace trace;
  trace.add(node);
  return ask(trace, groups);
}

TraceNode node_of(NodeType type, std::int64_t duration = 5000) {
  TraceNode node;
  fill_node(node, {.id = 1, .type = type, .duration = duration});
  add_is_cpu_op(node, false);
  return node;
}

TraceNode collective(CollectiveType type, std::string_view group) {
  TraceNode node = node_of(NodeType::kCommColl);
  add_comm_type(node, type);
  add_comm_size(node, Bytes{64});
  node.attributes.add_text(attribute_name::kProcessGroup, group);
  return node;
}

TEST(Simulators, TakeWhatTheyAskFor) {
  Said said = ask(node_of(NodeType::kComp));
  EXPECT_THAT(said.refusals, IsEmpty());
  EXPECT_THAT(said.old_refusals, IsEmpty());
  EXPECT_THAT(said.remarks, IsEmpty());
  said = ask(collective(CollectiveType::kAllReduce, "0"));
  EXPECT_THAT(said.refusals, IsEmpty());
  EXPECT_THAT(said.old_refusals, IsEmpty());
  EXPECT_THAT(said.remarks, IsEmpty());
}

TEST(Simulators, RefuseWhatTheyCannotSimulate) {
  Said said = ask(collective(CollectiveType::kBarrier, "0"));
  EXPECT_THAT(said.refusals, ElementsAre("collective BARRIER is not simulated"));
  EXPECT_THAT(said.old_refusals, ElementsAre("collective BARRIER is not simulated"));
  EXPECT_THAT(ask(collective(CollectiveType::kReduce, "0")).refusals,
              ElementsAre("collective REDUCE is not simulated"));
  EXPECT_THAT(ask(collective(CollectiveType::kBroadcast, "0")).remarks,
              ElementsAre(StartsWith("a broadcast lasts")));
  said = ask(node_of(NodeType::kMetadata));
  EXPECT_THAT(said.refusals, ElementsAre("statistics stop at a METADATA node"));
  EXPECT_THAT(said.old_refusals, ElementsAre("a METADATA node never ends"));
  TraceNode message = node_of(NodeType::kCommRecv);
  add_comm_size(message, Bytes{0});
  add_comm_src(message, 0);
  add_comm_tag(message, 7);
  EXPECT_THAT(ask(message).refusals, ElementsAre("a message of 0 bytes"));
}

TEST(Simulators, WithARooflineWantWork) {
  const auto refusals = [](std::optional<std::int64_t> work, std::optional<std::int64_t> size,
                           bool on_cpu = false) {
    Trace trace;
    TraceNode node;
    fill_node(node, {.id = 1, .type = NodeType::kComp});
    add_is_cpu_op(node, false);
    add_work(node, Flops{1'000'000'000}, Bytes{1'000'000});
    trace.add(node);
    fill_node(node, {.id = 2, .type = NodeType::kComp, .data = {1}, .duration = 5000});
    add_is_cpu_op(node, on_cpu);
    if (work) add_num_ops(node, Flops{*work});
    if (size) add_tensor_size(node, Bytes{*size});
    trace.add(node);
    const Said said = ask(trace);
    EXPECT_THAT(said.refusals, IsEmpty());
    return said.roofline_refusals;
  };
  EXPECT_THAT(refusals(1000, 1000), IsEmpty());
  EXPECT_THAT(refusals({}, {}), ElementsAre("COMP without num_ops", "COMP without tensor_size"));
  EXPECT_THAT(refusals({}, {}, true), IsEmpty()) << "ops of the host last as long as they were recorded";
  EXPECT_THAT(refusals(0, 4),
              ElementsAre("num_ops is 0 and tensor_size is not: the roofline divides 0 by 0"));
  EXPECT_THAT(refusals(1, 4), IsEmpty()) << "not the first";
  EXPECT_THAT(refusals(0, 0), IsEmpty());
}

TEST(Simulators, WithARooflineDoNotStartWithAComputationOfNoTime) {
  TraceNode node = node_of(NodeType::kComp);
  add_work(node, Flops{1}, Bytes{4});
  EXPECT_THAT(ask(node).roofline_refusals,
              ElementsAre("the first computation takes less than 1 ns, at which the event queue stops"));
  EXPECT_THAT(ask(node).refusals, IsEmpty());
  node = node_of(NodeType::kComp);
  add_work(node, Flops{1}, Bytes{10'000});
  EXPECT_THAT(ask(node).roofline_refusals, IsEmpty());
}

TEST(Simulators, RefuseCommunicationWithoutItsAttributes) {
  EXPECT_THAT(ask(node_of(NodeType::kCommColl)).refusals,
              ElementsAre("COMM_COLL without comm_type", "COMM_COLL without comm_size"));
  EXPECT_THAT(
      ask(node_of(NodeType::kCommSend)).refusals,
      ElementsAre("COMM_SEND without comm_dst", "COMM_SEND without comm_size", "COMM_SEND without comm_tag"));
  EXPECT_THAT(
      ask(node_of(NodeType::kCommRecv)).old_refusals,
      ElementsAre("COMM_RECV without comm_src", "COMM_RECV without comm_size", "COMM_RECV without comm_tag"));
  EXPECT_THAT(ask(node_of(NodeType::kMemLoad)).refusals, ElementsAre("MEM_LOAD without tensor_size"));
}

// The newer feeder takes any integer, the older one silently takes 0 for a kind that it does not expect.
TEST(Simulators, DifferInTheKindsOfAttributes) {
  TraceNode node = node_of(NodeType::kCommColl);
  add_comm_type(node, CollectiveType::kAllReduce);
  node.attributes.add_uint64(attribute_name::kCommSize, 64);
  Said said = ask(node);
  EXPECT_THAT(said.refusals, IsEmpty());
  EXPECT_THAT(said.old_refusals, ElementsAre("attribute comm_size is of kind uint64 instead of int64"));
  node = node_of(NodeType::kCommColl);
  add_comm_type(node, CollectiveType::kAllReduce);
  node.attributes.add_double(attribute_name::kCommSize, 64);
  EXPECT_THAT(ask(node).refusals, ElementsAre("attribute comm_size is of kind double instead of int64"));
}

TEST(Simulators, DifferInCommunicationOfTheHost) {
  TraceNode node;
  fill_node(node, {.id = 1, .type = NodeType::kCommColl, .duration = 5000});
  add_is_cpu_op(node, true);
  const Said said = ask(node);
  EXPECT_THAT(said.refusals, ElementsAre("communication that is a host op"));
  EXPECT_THAT(said.old_refusals, IsEmpty()) << "there it is a computation";
}

TEST(Simulators, WantProcessGroupsByNumber) {
  const GroupMembers groups{{"1", {0, 1}}};
  EXPECT_THAT(ask(collective(CollectiveType::kAllReduce, "1"), &groups).refusals, IsEmpty());
  EXPECT_THAT(ask(collective(CollectiveType::kAllReduce, "2"), &groups).refusals,
              ElementsAre("a process group that is not in the file of groups: 2"));
  EXPECT_THAT(ask(collective(CollectiveType::kAllReduce, "dp"), &groups).refusals,
              ElementsAre("a pg_name that is no number: 'dp'"));
  EXPECT_THAT(ask(collective(CollectiveType::kAllReduce, "1")).remarks,
              ElementsAre("a process group is named, so that a file of groups has to be given"));
  const GroupMembers alone{{"1", {1}}};
  EXPECT_THAT(ask(collective(CollectiveType::kAllReduce, "1"), &alone).refusals,
              ElementsAre("a collective of one rank does not end: group 1"));
}

TEST(Simulators, WantMessagesFromTheirOwnRank) {
  TraceNode node = node_of(NodeType::kCommSend);
  add_comm_size(node, Bytes{64});
  add_comm_src(node, 0);
  add_comm_dst(node, 2);
  add_comm_tag(node, 7);
  EXPECT_THAT(ask(node).refusals, ElementsAre("COMM_SEND has another comm_src than the rank of the trace"));
}

TEST(Simulators, DifferInTheDependenciesThatTheyFollow) {
  const Said said =
      ask(trace_of({{.id = 1, .ctrl = {9}, .duration = 5000}, {.id = 2, .ctrl = {1}, .duration = 5000}}));
  EXPECT_THAT(said.refusals, ElementsAre("1 dependencies on nodes that are not in the file"));
  EXPECT_THAT(said.old_refusals, IsEmpty());
  EXPECT_THAT(said.old_remarks, ElementsAre(StartsWith("has control dependencies only")));
  const Said circle =
      ask(trace_of({{.id = 1, .ctrl = {2}, .duration = 5000}, {.id = 2, .data = {1}, .duration = 5000}}));
  EXPECT_THAT(circle.refusals, ElementsAre("nodes that wait for each other in a circle never start"));
  EXPECT_THAT(circle.old_refusals, IsEmpty());
}

TEST(Simulators, RemarkOnTimesThatTheyDoNotSee) {
  EXPECT_THAT(ask(node_of(NodeType::kComp, 999)).remarks,
              ElementsAre(StartsWith("lasts less than a microsecond")));
  EXPECT_THAT(ask(node_of(NodeType::kComp, 0)).remarks,
              ElementsAre(StartsWith("has neither a duration nor num_ops")));
}

TEST(Simulators, DoNotReadJson) {
  const Trace trace = trace_of({{.id = 1, .duration = 5000}});
  EXPECT_THAT(ask(trace, nullptr, TraceFileKind::kChakraJson).refusals,
              ElementsAre("the file is JSON, and .et is read"));
}

TEST(Simulators, TheirVerdictIsAnErrorOnlyWhereAsked) {
  const TemporaryFolder folder;
  Trace trace;
  trace.add(collective(CollectiveType::kBarrier, "0"));
  write_trace(folder / "t.0.et", trace);
  const std::vector files{folder / "t.0.et"};
  EXPECT_EQ(check_traces(files, {}).findings.total(Severity::kError), 0u);
  const CheckReport report = check_traces(files, {.simulators = {"astra-sim"}});
  EXPECT_THAT(messages(report.findings, rule::kRefused),
              ElementsAre("astra-sim would refuse it: collective BARRIER is not simulated"));
  EXPECT_THROW(check_traces(files, {.simulators = {"astrasim"}}), Error);
}

}  // namespace
}  // namespace nadi::inline traces
