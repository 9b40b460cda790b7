// Traces of the host without a profile.
#include <gmock/gmock.h>

#include <filesystem>

#include "nadi/convert/profile_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string host_node(std::uint64_t id, std::string_view name, std::uint64_t caller, std::uint64_t thread,
                      std::string_view attributes = "") {
  return format(
      R"x({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {{"values": [[4, 5, 0, 6, 4, "cuda:0"]], )x"
      R"x("shapes": [[2, 3]], "types": ["Tensor(float)"]}}, )x"
      R"x("outputs": {{"values": [], "shapes": [], "types": []}}, )x"
      R"x("attrs": [{{"name": "rf_id", "type": "uint64", "value": {}}}, )x"
      R"x({{"name": "tid", "type": "uint64", "value": {}}}{}]}})x",
      id, name, caller, id, thread, attributes);
}

// As PyTorch writes them: when an op ends.
Converted convert_host(const std::vector<std::string>& nodes) {
  const std::string json =
      format(R"({{"schema": "1.1.1-chakra.0.0.4", "pid": 100, "nodes": [{}]}})", fmt::join(nodes, ",\n"));
  return Converted({.host = std::make_shared<const HostTrace>(read_host_trace(json, "host.json"))});
}

TEST(HostAlone, OpsOfAThreadAreAChainInTheOrderOfTheirIds) {
  const Converted converted =
      convert_host({host_node(6, "aten::mm", 5, 1), host_node(5, "aten::linear", 2, 1),
                    host_node(9, "backward", 3, 2), host_node(8, "aten::relu", 2, 1)});
  EXPECT_NO_THROW(check_trace(converted.nodes));
  EXPECT_THAT(converted.data_deps("aten::linear"), IsEmpty());
  EXPECT_THAT(converted.data_deps("aten::mm"), ElementsAre("aten::linear"));
  EXPECT_THAT(converted.ctrl_deps("aten::mm"), ElementsAre("aten::linear"));
  EXPECT_THAT(converted.data_deps("aten::relu"), ElementsAre("aten::mm"));
  EXPECT_THAT(converted.data_deps("backward"), IsEmpty());
  EXPECT_EQ(to_number(converted.nodes.id(converted.row("aten::relu"))), 8);
  EXPECT_EQ(converted.nodes.inputs(converted.row("aten::mm")).shapes, "[[2, 3]]");
  for (std::size_t row = 0; row < converted.nodes.size(); ++row) {
    EXPECT_EQ(converted.nodes.start(row), Nanoseconds{});
    EXPECT_EQ(converted.nodes.duration(row), Nanoseconds{});
  }
  EXPECT_EQ(converted.report().host_nodes, 4);
  EXPECT_EQ(converted.report().span, Nanoseconds{});
}

TEST(HostAlone, WhatIsRecordedAsCommunicationIsThat) {
  const Converted converted =
      convert_host({host_node(5, "aten::mm", 2, 1),
                    host_node(6, "record_param_comms", 2, 1,
                              R"(, {"name": "collective_name", "type": "string", "value": "allreduce"},)"
                              R"( {"name": "dtype", "type": "string", "value": "Float"},)"
                              R"( {"name": "in_msg_nelems", "type": "uint64", "value": 6},)"
                              R"( {"name": "pg_name", "type": "string", "value": "0"})")});
  const std::size_t row = converted.row("record_param_comms");
  EXPECT_EQ(converted.nodes.type(row), NodeType::kCommColl);
  EXPECT_EQ(converted.number("record_param_comms", "comm_size"), 24);
  EXPECT_EQ(converted.number("record_param_comms", "is_cpu_op"), 0);
  EXPECT_EQ(converted.number("aten::mm", "is_cpu_op"), 1);
  EXPECT_EQ(converted.report().collectives, 1);
}

TEST(HostAlone, RealTracesConvert) {
  for (const std::string_view name : {"gpt2_b4_t512", "bert_b4_t384_ddp", "resnet_2gpu"}) {
    const std::filesystem::path file = format("{}/traces/{}_host.json.gz", shared_data().string(), name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "the real traces are not on this machine";
    const auto host = std::make_shared<const HostTrace>(read_host_trace(file));
    const Converted converted({.host = host});
    EXPECT_NO_THROW(check_trace(converted.nodes));
    EXPECT_EQ(converted.nodes.size(), host->nodes.size());
    EXPECT_EQ(converted.report().yielded_inferred + converted.report().yielded_recorded, 0);
  }
}

}  // namespace
}  // namespace nadi::inline traces
