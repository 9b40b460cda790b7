#include "nadi/convert/host_match.h"

#include <gmock/gmock.h>

#include "nadi/base/error.h"
#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A host's trace in the way PyTorch writes it.
class HostNodes {
 public:
  void add(std::uint64_t id, std::string_view name, std::uint64_t caller, std::uint64_t record_function,
           std::string_view attributes = "") {
    nodes_ += format(
        R"({}{{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {{"values": [], "shapes": [], "types": []}}, )"
        R"("outputs": {{"values": [], "shapes": [], "types": []}}, )"
        R"("attrs": [{{"name": "rf_id", "type": "uint64", "value": {}}}{}{}]}})",
        nodes_.empty() ? "" : ",\n", id, name, caller, record_function, attributes.empty() ? "" : ", ",
        attributes);
  }
  std::shared_ptr<const HostTrace> read() const {
    const std::string json =
        format(R"({{"schema": "1.1.1-chakra.0.0.4", "pid": 100, "nodes": [{}]}})", nodes_);
    return std::make_shared<const HostTrace>(read_host_trace(json, "host.json"));
  }

 private:
  std::string nodes_;
};

Profile two_ops() {
  Profile profile;
  profile.op("aten::linear", {.start = 0, .length = 30}, R"("Record function id": 11)");
  profile.op("aten::mm", {.start = 10, .length = 10},
             R"("Record function id": 12, "dtype": "Float", "Ev Idx": 4)");
  profile.call("cudaLaunchKernel", {.start = 12, .length = 5}, 1);
  profile.kernel("gemm", {.start = 20, .length = 5}, 1);
  return profile;
}

TEST(HostMatch, NodesOfTheHostKeepTheirIdsAndGetTimes) {
  HostNodes nodes;
  nodes.add(2, "root", 0, 0);
  nodes.add(8, "aten::mm", 5, 12);
  nodes.add(5, "aten::linear", 2, 11);
  const Converted converted({.kineto = read(two_ops()), .host = nodes.read()});
  EXPECT_EQ(converted.report().host_nodes, 3);
  EXPECT_EQ(converted.report().matched, 2);
  EXPECT_EQ(converted.report().unmatched_host, 1);
  EXPECT_EQ(converted.report().unmatched_events, 0);
  EXPECT_EQ(converted.report().removed_dependencies, 0);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("aten::mm"))), 8);
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("aten::linear"))), 5);
  EXPECT_GT(to_number(converted.nodes.id(converted.row("cudaLaunchKernel"))), 8);
  EXPECT_GT(to_number(converted.nodes.id(converted.row("gemm"))), 8);
  EXPECT_EQ(converted.nodes.start(converted.row("aten::mm")), Nanoseconds{10'000});
  EXPECT_EQ(converted.number("aten::mm", "inclusive_ns"), 10'000);
  EXPECT_THAT(converted.ctrl_deps("aten::linear"), ElementsAre("root"));
  EXPECT_THAT(converted.ctrl_deps("aten::mm"), ElementsAre("aten::linear"));
  EXPECT_THAT(converted.ctrl_deps("gemm"), ElementsAre("aten::mm"));
  EXPECT_EQ(converted.nodes.start(converted.row("root")), Nanoseconds{});
}

TEST(HostMatch, AttributesOfBothAreKept) {
  HostNodes nodes;
  nodes.add(5, "aten::linear", 0, 11);
  nodes.add(
      8, "aten::mm", 5, 12,
      R"({"name": "dtype", "type": "string", "value": "Half"}, {"name": "pg_name", "type": "string", "value": "x"})");
  const Converted converted({.kineto = read(two_ops()), .host = nodes.read()});
  EXPECT_EQ(converted.text("aten::mm", "dtype"), "Half");
  EXPECT_EQ(converted.text("aten::mm", "kineto dtype"), "Float");
  EXPECT_EQ(converted.number("aten::mm", "Ev Idx"), 4);
  EXPECT_EQ(converted.number("aten::mm", "rf_id"), 12);
  // `pg_name` is a number in the groups' file.
  EXPECT_EQ(converted.text("aten::mm", "pg_name"), std::nullopt);
  EXPECT_EQ(converted.text("aten::mm", "pg_name_pytorch"), "x");
}

TEST(HostMatch, WhatHasNoPartnerIsCounted) {
  HostNodes nodes;
  nodes.add(5, "aten::linear", 77, 11);  // the caller is not in the file
  nodes.add(6, "aten::never", 5, 99);
  const Converted converted({.kineto = read(two_ops()), .host = nodes.read()});
  EXPECT_EQ(converted.report().matched, 1);
  EXPECT_EQ(converted.report().unmatched_host, 1);
  EXPECT_EQ(converted.report().unmatched_events, 1);
  EXPECT_EQ(converted.report().removed_dependencies, 1);
  EXPECT_THAT(converted.ctrl_deps("aten::mm"), ElementsAre("aten::linear"));  // by nesting
}

TEST(HostMatch, OpsThatCallEachOtherAreRefused) {
  HostNodes nodes;
  nodes.add(5, "aten::linear", 8, 11);  // called by what it calls
  nodes.add(8, "aten::mm", 5, 12);
  try {
    const Converted converted({.kineto = read(two_ops()), .host = nodes.read()});
    FAIL() << "a cycle was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("host.json: ops call each other in a cycle: "
                                        "'aten::linear' -> 'aten::mm' -> 'aten::linear'"));
  }
}

TEST(HostMatch, ACallerThatStartedLaterIsNotWaitedFor) {
  HostNodes nodes;
  nodes.add(2, "root", 0, 0);
  nodes.add(5, "aten::linear", 8, 11);  // by the profile it calls aten::mm
  nodes.add(8, "aten::mm", 2, 12);
  const Converted converted({.kineto = read(two_ops()), .host = nodes.read()});
  EXPECT_THAT(converted.ctrl_deps("aten::linear"), testing::IsEmpty());
  EXPECT_THAT(converted.ctrl_deps("aten::mm"), ElementsAre("root"));
  EXPECT_EQ(converted.report().yielded_recorded, 1);
}

TEST(HostMatch, TwoNodesWithOneIdAreRefused) {
  HostNodes nodes;
  nodes.add(5, "aten::linear", 0, 11);
  nodes.add(5, "aten::mm", 0, 12);
  EXPECT_THROW(Converted({.kineto = read(two_ops()), .host = nodes.read()}), Error);
}

}  // namespace
}  // namespace nadi::inline traces
