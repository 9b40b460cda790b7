#include "nadi/convert/communication_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

std::optional<CollectiveType> collective_named(std::string_view name) {
  const auto kind = communication_kind(name);
  return kind && kind->type == NodeType::kCommColl ? std::optional(kind->collective) : std::nullopt;
}

TEST(CommunicationFacts, PytorchsNamesOfCollectives) {
  EXPECT_EQ(collective_named("allreduce"), CollectiveType::kAllReduce);
  EXPECT_EQ(collective_named("allreduce_coalesced"), CollectiveType::kAllReduce);
  EXPECT_EQ(collective_named("_allgather_base"), CollectiveType::kAllGather);
  EXPECT_EQ(collective_named("all_gather_into_tensor_coalesced"), CollectiveType::kAllGather);
  EXPECT_EQ(collective_named("_reduce_scatter_base"), CollectiveType::kReduceScatter);
  EXPECT_EQ(collective_named("reduce"), CollectiveType::kReduce);
  EXPECT_EQ(collective_named("broadcast"), CollectiveType::kBroadcast);
  EXPECT_EQ(collective_named("all_to_allv"), CollectiveType::kAllToAll);
  EXPECT_EQ(collective_named("alltoall_base"), CollectiveType::kAllToAll);
  EXPECT_EQ(collective_named("barrier"), CollectiveType::kBarrier);
  EXPECT_EQ(communication_kind("send")->type, NodeType::kCommSend);
  EXPECT_EQ(communication_kind("recv")->type, NodeType::kCommRecv);
  EXPECT_EQ(communication_kind("recv_any_source")->type, NodeType::kCommRecv);
  EXPECT_FALSE(communication_kind("wait"));
  EXPECT_FALSE(communication_kind("init"));
  EXPECT_FALSE(communication_kind(""));
}

TEST(CommunicationFacts, NamesOfKernels) {
  EXPECT_EQ(kernel_kind("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)")->collective,
            CollectiveType::kAllGather);
  EXPECT_EQ(kernel_kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)")
                ->collective,
            CollectiveType::kAllReduce);
  EXPECT_FALSE(kernel_kind("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_FALSE(kernel_kind("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"));
}

TEST(CommunicationFacts, ElementSizes) {
  EXPECT_EQ(element_bytes("Float"), 4);
  EXPECT_EQ(element_bytes("BFloat16"), 2);
  EXPECT_EQ(element_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(element_bytes("Long"), 8);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1);
  EXPECT_FALSE(element_bytes("Quaternion"));
}

// As an execution trace of schema 1.0.3 has it: everything in the inputs.
TEST(CommunicationFacts, OlderTracesSayItInTheInputs) {
  Trace trace;
  TraceNode node;
  node.name = "record_param_comms";
  node.inputs.values =
      R"([[[433, 434, 0, 53120, 4, "cuda:0"], [435, 434, 0, 10, 8, "cuda:0"]], 33, ["7", "tp"], 1, "broadcast", [], [], 0, 1, 1])";
  trace.add(node);
  CommunicationFacts facts;
  add_attributes(facts, trace, 0);
  add_inputs(facts, trace, 0);
  EXPECT_EQ(facts.name, "broadcast");
  EXPECT_EQ(facts.group, "7");
  EXPECT_EQ(facts.group_description, "tp");
  EXPECT_EQ(facts.peer, 1);
  EXPECT_EQ(facts.size(), Bytes{53120 * 4 + 10 * 8});
}

TEST(CommunicationFacts, AWaitHasNoTensors) {
  Trace trace;
  TraceNode node;
  node.name = "record_param_comms";
  node.inputs.values = R"([33, ["", ""], 0, "wait", [], [], -1, -1, 1])";
  trace.add(node);
  CommunicationFacts facts;
  add_inputs(facts, trace, 0);
  EXPECT_EQ(facts.name, "wait");
  EXPECT_EQ(facts.size(), std::nullopt);
}

TEST(CommunicationFacts, WhatIsKnownStays) {
  Trace trace;
  TraceNode node;
  node.attributes.add_text("collective_name", "allreduce");
  node.attributes.add_text("Process Group Ranks", "[0, 1, ..., 63]");
  node.attributes.add_uint64("in_msg_nelems", 5);
  trace.add(node);
  CommunicationFacts facts;
  facts.name = "broadcast";
  add_attributes(facts, trace, 0);
  EXPECT_EQ(facts.name, "broadcast");
  EXPECT_EQ(facts.elements, 5);
  EXPECT_THAT(facts.ranks, ElementsAre());
  EXPECT_EQ(facts.size(), std::nullopt);  // of elements of no known type
}

}  // namespace
}  // namespace nadi::inline traces
