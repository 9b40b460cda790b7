#include "nadi/convert/op_order.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

// Host's traces of schema 1.0.1, as PyTorch 1.12 to 2.0 writes them.
class OldHostNodes {
 public:
  void add(std::uint64_t id, std::string_view name, std::uint64_t record_function, int thread = 1,
           std::string_view inputs = "[]") {
    nodes_ += format(
        R"({}{{"name": "{}", "id": {}, "rf_id": {}, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 0, )"
        R"("tid": {}, "fw_tid": 0, "op_schema": "", "inputs": {}, "input_shapes": [], "input_types": [], )"
        R"("outputs": [], "output_shapes": [], "output_types": []}})",
        nodes_.empty() ? "" : ",\n", name, id, record_function, thread, inputs);
  }
  std::shared_ptr<const HostTrace> read() const {
    return std::make_shared<const HostTrace>(
        read_host_trace(format(R"({{"schema": "1.0.1", "pid": 100, "nodes": [{}]}})", nodes_), "host.json"));
  }

 private:
  std::string nodes_;
};

std::string name_of(int i) {
  return format("aten::op{}", i % 7 == 3 ? 0 : i);
}

// Ops of two threads that ran at the same time: ids of the two files have nothing in common.
TEST(OpOrder, ThreadsAreMatchedByNamesInTheirOrder) {
  Profile profile;
  OldHostNodes host;
  profile.annotation("ProfilerStep#10", {.start = 0, .length = 100'000}, R"("External id": 1)");
  host.add(2, "[pytorch|profiler|execution_graph|thread]", 0);
  for (int i = 0; i < 60; ++i) {
    profile.op(name_of(i), {.start = 10 + 20 * i, .length = 10}, format(R"("External id": {})", 500 + 2 * i));
    profile.op(name_of(2 * i + 1), {.start = 15 + 20 * i, .length = 10},
               format(R"("External id": {})", 900 - i), /*thread=*/101);
    host.add(static_cast<std::uint64_t>(1000 + i), name_of(i), static_cast<std::uint64_t>(3 + 3 * i));
    host.add(static_cast<std::uint64_t>(2000 + i), name_of(2 * i + 1), static_cast<std::uint64_t>(4 + 2 * i),
             2);
  }
  const Converted converted({.kineto = read(profile), .host = host.read()});
  EXPECT_EQ(converted.report().matched, 120);
  EXPECT_EQ(converted.report().matched_by, MatchedBy::kOrder);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("aten::op58"))), 1058);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("aten::op119"))), 2059);
}

TEST(OpOrder, TheSameExternalIdIsAMatchWhereNamesAgree) {
  Profile profile;
  OldHostNodes host;
  for (int i = 1; i <= 10; ++i) {
    profile.op("aten::add", {.start = 20 * i, .length = 10}, format(R"("External id": {})", i));
    host.add(static_cast<std::uint64_t>(100 + i), "aten::add", static_cast<std::uint64_t>(i));
  }
  const Converted converted({.kineto = read(profile), .host = host.read()});
  EXPECT_EQ(converted.report().matched, 10);
  EXPECT_EQ(converted.report().matched_by, MatchedBy::kExternalId);
}

TEST(OpOrder, AFileThatBeganLaterIsAPartOfTheOther) {
  Profile profile;
  OldHostNodes host;
  for (int i = 0; i < 50; ++i) {
    if (i >= 20) profile.op(format("op{}", i), {.start = 20 * i, .length = 10});
    host.add(static_cast<std::uint64_t>(100 + i), format("op{}", i), static_cast<std::uint64_t>(1 + i));
  }
  const Converted converted({.kineto = read(profile), .host = host.read()});
  EXPECT_EQ(converted.report().matched, 30);
  EXPECT_EQ(converted.report().unmatched_host, 20);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("op49"))), 149);
}

// Among 100 ops of alternating names two are missing in the profile and one in the host's trace.
TEST(OpOrder, AFewOpsMayBeMissingOnBothSides) {
  Profile profile;
  OldHostNodes host;
  std::size_t both = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string name = i % 10 == 5 ? format("op{}", i) : format("aten::op{}", i % 3);
    const bool in_profile = i != 31 && i != 57, in_host = i != 72;
    if (in_profile) profile.op(name, {.start = 20 * i, .length = 10});
    if (in_host) host.add(static_cast<std::uint64_t>(1000 + i), name, static_cast<std::uint64_t>(7 + i));
    both += in_profile && in_host;
  }
  const OpOrder order = match_by_order(*read(profile), *host.read());
  EXPECT_EQ(order.matched, both);
  const Converted converted({.kineto = read(profile), .host = host.read()});
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("op95"))), 1095);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("op35"))), 1035);
}

TEST(OpOrder, AStepOfSeveralAlikeIsNotGuessed) {
  Profile profile;
  OldHostNodes host;
  for (int i = 0; i < 40; ++i) {
    profile.op(format("op{}", i % 10), {.start = 20 * i, .length = 10});
    if (i < 10)
      host.add(static_cast<std::uint64_t>(100 + i), format("op{}", i), static_cast<std::uint64_t>(1 + i));
  }
  const OpOrder order = match_by_order(*read(profile), *host.read());
  EXPECT_EQ(order.matched, 0);
  EXPECT_EQ(order.places, 4);
}

TEST(OpOrder, OtherRunsDoNotMatch) {
  Profile profile;
  OldHostNodes host;
  for (int i = 0; i < 100; ++i) {
    profile.op(format("op{}", i % 9), {.start = 20 * i, .length = 10});
    host.add(static_cast<std::uint64_t>(100 + i), format("op{}", (i * i) % 7),
             static_cast<std::uint64_t>(1 + i));
  }
  EXPECT_EQ(match_by_order(*read(profile), *host.read()).matched, 0);
}

// record_param_comms of schema 1.0.1: numbers in place of the group's name, and the kind as the fifth value.
TEST(OpOrder, OldRecordsSayTheirCommunication) {
  OldHostNodes host;
  host.add(5, "record_param_comms", 4, 1,
           R"([[718, 715, 0, 6144, 4, "cuda:0"], 147, 94594108284448, 0, "all_to_allv", [768], [768]])");
  host.add(6, "record_param_comms", 5, 1,
           R"([[[9, 8, 0, 100, 2, "cuda:0"]], 148, 94594108284448, 3, "allreduce"])");
  host.add(7, "record_param_comms", 6, 1, R"([147, 0, 0, "wait", [], []])");
  const Converted converted({.host = host.read()});
  EXPECT_EQ(converted.report().collectives, 2);
  EXPECT_EQ(converted.report().unknown_sizes, 0);
  EXPECT_EQ(converted.nodes.type(0), NodeType::kCommColl);
  EXPECT_EQ(converted.nodes.find_attribute(0, "comm_size")->integer(), 6144 * 4);
  EXPECT_EQ(converted.nodes.find_attribute(0, "comm_type")->integer(),
            static_cast<int>(CollectiveType::kAllToAll));
  EXPECT_EQ(converted.nodes.find_attribute(1, "comm_size")->integer(), 200);
  EXPECT_EQ(converted.nodes.type(2), NodeType::kComp);
  EXPECT_TRUE(converted.groups.empty());  // one group: all ranks
}

TEST(OpOrder, OldRecordsOfSeveralGroupsTellThemApart) {
  OldHostNodes host;
  host.add(5, "record_param_comms", 4, 1, R"([[718, 715, 0, 10, 4, "cuda:0"], 1, 111, 0, "allreduce"])");
  host.add(6, "record_param_comms", 5, 1, R"([[718, 715, 0, 10, 4, "cuda:0"], 2, 222, 0, "allreduce"])");
  const Converted converted({.host = host.read()});
  EXPECT_EQ(converted.report().unknown_groups, 2);
  EXPECT_NE(converted.nodes.find_attribute(0, "pg_name")->string(),
            converted.nodes.find_attribute(1, "pg_name")->string());
}

}  // namespace
}  // namespace nadi::inline traces
