#include "nadi/convert/communication.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

constexpr std::string_view kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
constexpr std::string_view kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

// record_param_comms with a launch in it, as PyTorch records a call of NCCL.
void communicate(Profile& profile, std::int64_t start, int correlation, std::string_view kernel,
                 std::string_view arguments) {
  profile.op("record_param_comms", {.start = start, .length = 20}, arguments);
  profile.annotation("nccl:call", {.start = start + 2, .length = 15});
  profile.call("cudaLaunchKernelExC", {.start = start + 5, .length = 5}, correlation);
  profile.kernel(kernel, {.start = start + 12, .length = 50}, correlation, 20);
}

std::string collective(std::string_view name, std::int64_t elements, std::string_view group,
                       std::string_view ranks) {
  return format(
      R"("Collective name": "{}", "dtype": "BFloat16", "In msg nelems": {}, "Out msg nelems": {}, )"
      R"("Process Group Name": "{}", "Process Group Description": "mesh", "Process Group Ranks": "{}", )"
      R"("Group size": 2, "Rank": 1)",
      name, elements, elements, group, ranks);
}

TEST(Communication, AKernelTakesWhatTheOpAroundItsLaunchSays) {
  Profile profile;
  communicate(profile, 0, 1, kAllReduce, collective("allreduce", 1000, "3", "[0, 2]"));
  const Converted converted = convert(profile);
  const std::size_t row = converted.row(kAllReduce);
  EXPECT_EQ(converted.nodes.type(row), NodeType::kCommColl);
  EXPECT_EQ(converted.number(kAllReduce, "comm_type"), static_cast<int>(CollectiveType::kAllReduce));
  EXPECT_EQ(converted.number(kAllReduce, "comm_size"), 2000);  // 1000 elements of 2 bytes
  EXPECT_EQ(converted.number(kAllReduce, "is_cpu_op"), 0);
  EXPECT_EQ(converted.text(kAllReduce, "pg_name"), "3");
  EXPECT_EQ(converted.text(kAllReduce, "pg_name_pytorch"), "3");
  EXPECT_EQ(converted.text(kAllReduce, "pg_desc"), "mesh");
  EXPECT_EQ(converted.text(kAllReduce, "dtype"), "BFloat16");
  EXPECT_EQ(converted.nodes.type(converted.row("record_param_comms")), NodeType::kComp);
  EXPECT_EQ(converted.groups.to_json(), "{\n  \"3\": [0, 2]\n}\n");
  EXPECT_EQ(converted.report().collectives, 1);
}

TEST(Communication, TheDefaultGroupIsAllRanks) {
  Profile profile;
  communicate(profile, 0, 1, kAllReduce, collective("allreduce", 1, "0", "[0, 1]"));
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.text(kAllReduce, "pg_name"), "0");
  EXPECT_TRUE(converted.groups.empty());
}

TEST(Communication, RanksThatWereCutShortComeFromTheListOfGroups) {
  Profile profile;
  profile.member(
      "distributedInfo",
      R"({"rank": 0, "world_size": 4, "pg_config": [{"pg_name": "3", "pg_desc": "mesh", "ranks": [0, 2]}]})");
  communicate(profile, 0, 1, kAllReduce, collective("allreduce", 1, "3", "[0, ..., 2]"));
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.groups.to_json(), "{\n  \"3\": [0, 2]\n}\n");
  EXPECT_EQ(converted.report().unknown_groups, 0);
}

TEST(Communication, AKernelAloneIsKnownByItsName) {
  Profile profile;
  profile.call("cudaLaunchKernel", {.start = 0, .length = 5}, 1);
  profile.kernel("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                 {.start = 10, .length = 5}, 1);
  profile.call("cudaLaunchKernel again", {.start = 20, .length = 5}, 2);
  profile.kernel(kSendRecv, {.start = 30, .length = 5}, 2);
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().collectives, 1);
  EXPECT_EQ(converted.report().unknown_communication, 1);
  EXPECT_EQ(converted.nodes.type(converted.row(kSendRecv)), NodeType::kComp);
}

// PyTorch 1.12 to 2.0: record_param_comms says nothing, the annotation has the kind and the tensors.
void communicate_as_of_old(Profile& profile, std::int64_t start, int correlation, std::string_view kernel,
                           std::string_view annotation, std::string_view tensors) {
  profile.op("record_param_comms", {.start = start, .length = 20},
             R"("Input Dims": [[], [], []], "Input type": ["TensorList", "Scalar", ""])");
  profile.annotation(annotation, {.start = start + 2, .length = 15}, tensors);
  profile.call("cudaLaunchKernel", {.start = start + 5, .length = 5}, correlation);
  profile.kernel(kernel, {.start = start + 12, .length = 50}, correlation, 20);
}

TEST(Communication, AnAnnotationAroundALaunchSaysKindAndSize) {
  Profile profile;
  constexpr std::string_view kAllToAll = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)";
  constexpr std::string_view kSum = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)";
  communicate_as_of_old(profile, 0, 1, kAllToAll, "nccl:all_to_all",
                        R"("Input Dims": [[16, 384]], "Input type": ["long int"])");
  communicate_as_of_old(profile, 100, 2, kSum, "nccl:all_reduce",
                        R"("Input Dims": [[100], [5]], "Input type": ["c10::BFloat16", "c10::BFloat16"])");
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.nodes.type(converted.row(kAllToAll)), NodeType::kCommColl);
  EXPECT_EQ(converted.number(kAllToAll, "comm_type"), static_cast<int>(CollectiveType::kAllToAll));
  EXPECT_EQ(converted.number(kAllToAll, "comm_size"), 16 * 384 * 8);
  EXPECT_EQ(converted.number(kSum, "comm_type"), static_cast<int>(CollectiveType::kAllReduce));
  EXPECT_EQ(converted.number(kSum, "comm_size"), 105 * 2);
  EXPECT_EQ(converted.text(kSum, "pg_name"), "0");
  EXPECT_EQ(converted.report().collectives, 2);
  EXPECT_EQ(converted.report().unknown_communication, 0);
  EXPECT_EQ(converted.report().unknown_sizes, 0);
}

TEST(Communication, KernelsOfOtherLibrariesAreKnownByName) {
  Profile profile;
  constexpr std::string_view kDispatch = "void deep_ep::intranode::dispatch<8, 768>(int4*)";
  profile.call("cudaLaunchKernel", {.start = 0, .length = 5}, 1);
  profile.kernel(kDispatch, {.start = 10, .length = 5}, 1);
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.number(kDispatch, "comm_type"), static_cast<int>(CollectiveType::kAllToAll));
  EXPECT_EQ(converted.report().unknown_sizes, 1);
}

// Gloo before PyTorch 2.1: an annotation on the host, and nothing around it. Beside GPU work, too.
TEST(Communication, CallsOfGlooAreCommunication) {
  Profile profile;
  profile.op("c10d::allreduce_", {.start = 0, .length = 100});
  profile.annotation("gloo:all_reduce", {.start = 60, .length = 30},
                     R"("Input Dims": [[256]], "Input type": ["float"])");
  profile.annotation("gloo:broadcast", {.start = 200, .length = 30},
                     R"("Input Dims": [[2, 2]], "Input type": ["double"])");
  profile.call("cudaLaunchKernel", {.start = 300, .length = 5}, 1);
  profile.kernel("gemm", {.start = 310, .length = 5}, 1);
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.nodes.type(converted.row("gloo:all_reduce")), NodeType::kCommColl);
  EXPECT_EQ(converted.number("gloo:all_reduce", "comm_size"), 1024);
  EXPECT_EQ(converted.number("gloo:all_reduce", "is_cpu_op"), 0);
  EXPECT_EQ(converted.number("gloo:broadcast", "comm_type"), static_cast<int>(CollectiveType::kBroadcast));
  EXPECT_EQ(converted.number("gloo:broadcast", "comm_size"), 32);
  EXPECT_EQ(converted.report().collectives, 2);
}

// Its record without attributes, as PyTorch 2.0 writes it: the annotation in it says what was sent.
TEST(Communication, ARecordOfGlooTakesWhatItsAnnotationSays) {
  Profile profile;
  profile.op("record_param_comms", {.start = 0, .length = 100});
  profile.annotation("gloo:all_gather", {.start = 10, .length = 80},
                     R"("Input Dims": [[10]], "Input type": ["int"])");
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.number("record_param_comms", "comm_type"),
            static_cast<int>(CollectiveType::kAllGather));
  EXPECT_EQ(converted.number("record_param_comms", "comm_size"), 40);
}

TEST(Communication, MessagesHaveBothEndsAndACountingTag) {
  Profile profile;
  const std::string group = R"("dtype": "Float", "In msg nelems": 8, "Process Group Name": "2", )"
                            R"("Process Group Ranks": "[4, 6]", "Group size": 2)";
  // The rank is 4: the first of the group. "Rank" is the other one's place in the group.
  communicate(profile, 0, 1, "ncclDevKernel_SendRecv(1)",
              R"("Collective name": "send", "Rank": 1, )" + group);
  communicate(profile, 100, 2, "ncclDevKernel_SendRecv(2)",
              R"("Collective name": "recv", "Rank": 1, )" + group);
  communicate(profile, 200, 3, "ncclDevKernel_SendRecv(3)",
              R"("Collective name": "send", "Rank": 1, "Dst Rank": 6, )" + group);
  const Converted converted({.kineto = read(profile), .rank = 4});
  EXPECT_EQ(converted.nodes.type(converted.row("ncclDevKernel_SendRecv(1)")), NodeType::kCommSend);
  EXPECT_EQ(converted.nodes.type(converted.row("ncclDevKernel_SendRecv(2)")), NodeType::kCommRecv);
  for (const std::string_view send : {"ncclDevKernel_SendRecv(1)", "ncclDevKernel_SendRecv(3)"}) {
    EXPECT_EQ(converted.number(send, "comm_src"), 4);
    EXPECT_EQ(converted.number(send, "comm_dst"), 6);
    EXPECT_EQ(converted.number(send, "comm_size"), 32);
    EXPECT_EQ(converted.number(send, "comm_type"), std::nullopt);
  }
  EXPECT_EQ(converted.number("ncclDevKernel_SendRecv(2)", "comm_src"), 6);
  EXPECT_EQ(converted.number("ncclDevKernel_SendRecv(2)", "comm_dst"), 4);
  EXPECT_EQ(converted.number("ncclDevKernel_SendRecv(1)", "comm_tag"), 0);
  EXPECT_EQ(converted.number("ncclDevKernel_SendRecv(2)", "comm_tag"), 0);
  EXPECT_EQ(converted.number("ncclDevKernel_SendRecv(3)", "comm_tag"), 1);
  EXPECT_EQ(converted.report().sends, 2);
  EXPECT_EQ(converted.report().receives, 1);
}

TEST(Communication, WhatLaunchedNothingIsCounted) {
  Profile profile;
  profile.op("record_param_comms", {.start = 0, .length = 20}, collective("allreduce", 8, "0", "[0]"));
  profile.annotation("nccl:all_reduce", {.start = 2, .length = 10});
  profile.op("record_param_comms", {.start = 30, .length = 20}, collective("wait", 0, "0", "[]"));
  profile.call("cudaLaunchKernel", {.start = 60, .length = 5}, 1);
  profile.kernel("gemm", {.start = 70, .length = 5}, 1);
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().without_device_op, 1);
  EXPECT_EQ(converted.report().collectives, 0);
}

TEST(Communication, OfABackendOnTheHostTheOpIsTheCommunication) {
  Profile profile;
  profile.op("before", {.start = 0, .length = 10});
  profile.op("record_param_comms", {.start = 10, .length = 40},
             collective("_allgather_base", 16, "1", "[0, 1]"));
  profile.annotation("gloo:all_gather", {.start = 12, .length = 35});
  profile.op("after", {.start = 50, .length = 10});
  const Converted converted = convert(profile);
  const std::size_t row = converted.row("record_param_comms");
  EXPECT_EQ(converted.nodes.type(row), NodeType::kCommColl);
  EXPECT_EQ(converted.microseconds("record_param_comms"), 40);
  EXPECT_EQ(converted.number("record_param_comms", "is_cpu_op"), 0);
  EXPECT_EQ(converted.number("record_param_comms", "comm_size"), 32);
  EXPECT_THAT(converted.data_deps("after"), ElementsAre("record_param_comms"));
  EXPECT_EQ(converted.report().dropped[static_cast<std::size_t>(KinetoCategory::kUserAnnotation)], 1);
}

TEST(Communication, OrTheAnnotationWhereThatGoesOnInTheBackground) {
  Profile profile;
  profile.op("record_param_comms", {.start = 10, .length = 10}, collective("allreduce", 16, "1", "[0, 1]"));
  profile.annotation("gloo:all_reduce", {.start = 12, .length = 100});
  profile.op("after", {.start = 20, .length = 10});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.nodes.type(converted.row("record_param_comms")), NodeType::kComp);
  EXPECT_EQ(converted.nodes.type(converted.row("gloo:all_reduce")), NodeType::kCommColl);
  EXPECT_EQ(converted.microseconds("gloo:all_reduce"), 100);
  EXPECT_EQ(converted.number("gloo:all_reduce", "comm_size"), 32);
  EXPECT_THAT(converted.data_deps("after"), ElementsAre("record_param_comms"));
}

TEST(Communication, SimulatorsGetWhatTheyReadAndNothingElse) {
  Profile profile;
  communicate(profile, 0, 1, kAllReduce, collective("allreduce", 1000, "3", "[0, 2]"));
  const Converted converted = convert(profile, {.simulate_only = true});
  std::vector<std::string> names;
  const std::size_t row = converted.row(kAllReduce);
  for (std::size_t i = 0; i < converted.nodes.attribute_count(row); ++i)
    names.emplace_back(converted.nodes.attribute(row, i).name);
  EXPECT_THAT(names,
              ElementsAre("is_cpu_op", "comm_type", "comm_size", "pg_name", "category", "stream", "device"));
}

}  // namespace
}  // namespace nadi::inline traces
