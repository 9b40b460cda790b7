#include "nadi/convert/layer_workload.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/convert/convert_files.h"
#include "nadi/testing/text_files.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {
namespace {

class Workloads : public testing::Test {
 protected:
  std::filesystem::path file(std::string_view name, std::string_view text) {
    write_text(folder_.path() / name, text);
    return folder_.path() / name;
  }
  Error error_of(std::string_view text) {
    try {
      read_layer_workload(file("wrong.txt", text));
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << text;
    return usage_error("none");
  }
  // "name type size after" of each node of a rank.
  std::vector<std::string> nodes_of(std::string_view text, const LayerWorkloadOptions& options,
                                    std::int64_t rank = 0) {
    const LayerWorkload workload = read_layer_workload(file("w.txt", text));
    const LayerWorkloadTrace trace(workload, options);
    const auto groups = trace.group_numbers(rank, numbers_);
    std::vector<std::string> lines;
    TraceNode node;
    for (std::size_t row = 0; row < trace.size(); ++row) {
      trace.get(row, groups, node);
      std::string line(node.name);
      if (node.type == NodeType::kComp) line += " " + std::to_string(node.duration.count());
      if (const TraceAttribute* size = node.attributes.find(attribute_name::kCommSize))
        line += " " + std::to_string(*size->integer()) + "B";
      if (const TraceAttribute* group = node.attributes.find(attribute_name::kProcessGroup))
        line += " in " + std::string(group->text);
      for (const TraceNodeId parent : node.data_deps) line += " <" + std::to_string(to_number(parent));
      lines.push_back(line);
    }
    return lines;
  }
  TemporaryFolder folder_;
  GroupNumbers numbers_;
};

using Lines = std::vector<std::string>;

TEST_F(Workloads, DataParallelGradientsHoldUpNothing) {
  EXPECT_EQ(
      nodes_of("DATA\n2\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 400 5\n"
               "b\t-1\t11\tNONE\t0\t21\tNONE\t0\t31\tALLREDUCE\t401\t0\n",
               {.ranks = 4}),
      (Lines{"a.forward 10", "b.forward 11 <0", "b.weight gradient 31 <1",
             "b.weight gradient collective 401B in 0 <2", "b.input gradient 21 <2", "a.weight gradient 30 <4",
             "a.weight gradient collective 400B in 0 <5", "a.weight gradient collective.update 5 <6"}));
}

// Four ranks in two groups of two: tensor parallelism waits, data parallelism does not.
TEST_F(Workloads, TransformersWaitForActivations) {
  const char* text =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\na -1 10 ALLREDUCE 100 20 ALLREDUCE 200 30 "
      "ALLREDUCE 300 0\n";
  EXPECT_EQ(nodes_of(text, {.ranks = 4}, 0),
            (Lines{"a.forward 10", "a.forward collective 100B in 1 <0", "a.input gradient 20 <0 <1",
                   "a.input gradient collective 200B in 1 <2", "a.weight gradient 30 <2 <3",
                   "a.weight gradient collective 300B in 2 <4"}));
  nodes_of(text, {.ranks = 4}, 3);
  EXPECT_EQ(numbers_.members().at(1), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(numbers_.members().at(2), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(numbers_.members().at(3), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(numbers_.members().at(4), (std::vector<std::int64_t>{1, 3}));
}

// Layer 2 begins its backward with the forward of layers 0 and 1, since the checkpoint.
TEST_F(Workloads, ForwardIsComputedAgainSinceTheCheckpoint) {
  const std::string line = " -1 1 NONE 0 2 NONE 0 3 NONE 0 0\n";
  EXPECT_EQ(nodes_of("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 1 0 "
                     "checkpoint_initiates: 1 2\n3\na" +
                         line + "b" + line + "c" + line,
                     {.ranks = 1}),
            (Lines{"a.forward 1", "b.forward 1 <0", "c.forward 1 <1", "a.forward again 1 <2",
                   "b.forward again 1 <3", "c.input gradient 2 <4", "c.weight gradient 3 <5",
                   "b.input gradient 2 <6", "b.weight gradient 3 <7", "a.input gradient 2 <8",
                   "a.weight gradient 3 <9"}));
}

// AICB: 16 ranks in 2 stages of 8; tensor groups of 2 make 4 replicas, of which 2 share experts. A gather's
// size is that of its result: a part of 1000 is 1000 / 4.
TEST_F(Workloads, AicbHasExpertsAndWholeGathers) {
  const char* text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 4 all_gpus: 16 "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096\n"
      "1\nmoe -1 1 ALLTOALL_EP 64 1 NONE 0 1 ALLGATHER 1000 0\n";
  EXPECT_EQ(nodes_of(text, {}, 3),
            (Lines{"moe.forward 1", "moe.forward collective 64B in 2 <0", "moe.input gradient 1 <0 <1",
                   "moe.weight gradient 1 <2", "moe.weight gradient collective 250B in 1 <3"}));
  EXPECT_EQ(numbers_.members().at(1), (std::vector<std::int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(numbers_.members().at(2), (std::vector<std::int64_t>{1, 3}));
  const LayerWorkload workload = read_layer_workload(folder_.path() / "w.txt");
  EXPECT_EQ(LayerWorkloadTrace(workload, {}).ranks(), 8);
}

// The lookups are exchanged while the bottom layers compute.
TEST_F(Workloads, DlrmExchangesLookupsBesideItsBottom) {
  EXPECT_EQ(nodes_of("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n3\n"
                     "emb -1 1 ALLTOALL 10 1 ALLTOALL 20 1 NONE 0 0\n"
                     "bot -1 2 NONE 0 2 NONE 0 2 ALLREDUCE 30 0\n"
                     "top -1 3 NONE 0 3 NONE 0 3 NONE 0 0\n",
                     {.ranks = 2}),
            (Lines{"emb.forward 1", "emb.forward collective 10B in 0 <0", "bot.forward 2 <0",
                   "top.forward 3 <1 <2", "top.weight gradient 3 <3", "top.input gradient 3 <4",
                   "emb.input gradient collective 20B in 0 <5", "bot.weight gradient 2 <5",
                   "bot.weight gradient collective 30B in 0 <7", "bot.input gradient 2 <7",
                   "emb.weight gradient 1 <9"}));
}

TEST_F(Workloads, TheLastBottomLayerMayStandAlone) {
  EXPECT_EQ(read_layer_workload(file("dlrm.txt",
                                     "HYBRID_DLRM\t1\t\t\n2\n"
                                     "emb -1 1 ALLTOALL 10 1 ALLTOALL 20 1 NONE 0 0\n"
                                     "bot -1 2 NONE 0 2 NONE 0 2 ALLREDUCE 30 0\n"))
                .last_bottom_layer,
            1);
  EXPECT_EQ(error_of("DATA 1\n1\na -1 10 NONE 0 20 NONE 0 30 NONE 0 0\n").message(), "unknown key '1'");
}

TEST_F(Workloads, SizesMayHaveAFractionOfZero) {
  EXPECT_EQ(nodes_of("DATA\n1\na -1 10.0 NONE 0 20 NONE 0 30 ALLREDUCE 8388608.00 0\n", {.ranks = 2}).back(),
            nodes_of("DATA\n1\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 8388608 0\n", {.ranks = 2}).back());
  for (const std::string_view wrong : {"1.5", "1.", ".0", "1e3"})
    EXPECT_NE(error_of("DATA\n1\na -1 " + std::string(wrong) + " NONE 0 20 NONE 0 30 NONE 0 0\n")
                  .message()
                  .find("is no whole number"),
              std::string::npos)
        << wrong;
}

TEST_F(Workloads, ConvertWritesATraceOfEachRankAndTheGroups) {
  const auto text = file("gpt.txt",
                         "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n"
                         "a -1 10 ALLREDUCE 100 20 NONE 0 30 ALLREDUCE 300 0\n");
  EXPECT_TRUE(is_layer_workload(text));
  ConvertInput input;
  add_files(input, std::vector{text});
  EXPECT_EQ(input.workload, text);
  const ConvertSummary summary =
      convert_files(input, {.name = folder_.path() / "run"}, {.workload = {.ranks = 4}});
  ASSERT_EQ(summary.files.size(), 4u);
  EXPECT_EQ(read_any_trace(folder_.path() / "run.3.et").size(), 5u);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "run.groups.json"));
}

TEST_F(Workloads, MistakesHaveAPlace) {
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  EXPECT_NE(error_of("HYBRID_TRANSFORMR\n1\n" + layer).hint().find("'HYBRID_TRANSFORMER'"),
            std::string::npos);
  EXPECT_NE(error_of("DATA modl: 1\n1\n" + layer).message().find("unknown key 'modl:'"), std::string::npos);
  const Error word = error_of("DATA\n1\na -1 1 NONE 0 1 ALLREDUC 0 1 NONE 0 1\n");
  EXPECT_EQ(word.place().line, 3);
  EXPECT_NE(word.hint().find("'ALLREDUCE'"), std::string::npos);
  EXPECT_NE(error_of("DATA\n2\n" + layer).message().find("layer 2 of 2 is missing"), std::string::npos);
  EXPECT_NE(error_of("DATA\n1\na -1 1 NONE 0\n").message().find("5 values, not 12"), std::string::npos);
  EXPECT_NE(error_of("DATA\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n").message().find("'x'"),
            std::string::npos);
  EXPECT_NE(error_of("HYBRID_TRANSFORMER checkpoints: 1 4\n1\n" + layer).message().find("layer 4"),
            std::string::npos);
  const LayerWorkload unknown = read_layer_workload(file("u.txt", "HYBRID_DATA_MODEL\n1\n" + layer));
  EXPECT_THROW(LayerWorkloadTrace(unknown, {}), Error);
  EXPECT_THROW(LayerWorkloadTrace(unknown, {.ranks = 4}), Error);
  EXPECT_THROW(LayerWorkloadTrace(unknown, {.ranks = 4, .model_group = 3}), Error);
}

}  // namespace
}  // namespace nadi::inline traces
