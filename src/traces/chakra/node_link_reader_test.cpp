#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/node_link_graph.h"
#include "nadi/chakra/node_link_trace.h"
#include "nadi/chakra/node_link_writer.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/testing/temporary_file.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string as_node_link(const Trace& trace) {
  std::string text;
  write_node_link(trace, [&](std::string_view part) { text += part; });
  return text;
}

std::string node_link_message(std::string_view json) {
  try {
    traces_of(read_node_link(json, "g.json"));
    return "nothing is wrong";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    return error.what();
  }
}

Trace two_nodes() {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{3};
  node.name = "a\tb";
  node.type = NodeType::kComp;
  node.start = Nanoseconds{7};
  node.duration = Nanoseconds{5};
  node.inputs = {"[[\"x\", 8]]", "[[2]]", "[\"f32\"]"};
  add_work(node, Flops{4}, Bytes{16});
  node.attributes.add_text("name", "taken");
  node.attributes.add_text("attr_name", "taken, too");
  node.attributes.add_text("attr_free", "as it is");
  node.attributes.add_double("share", 0.25);
  trace.add(node);
  node.clear();
  node.id = TraceNodeId{18446744073709551615u};
  node.type = NodeType::kCommSend;
  node.ctrl_deps = {TraceNodeId{3}};
  node.data_deps = {TraceNodeId{3}};
  add_comm_dst(node, 1);
  add_comm_tag(node, 4);
  const std::array dimensions{true, false};
  node.attributes.add_bool_list(attribute_name::kInvolvedDimensions, dimensions);
  trace.add(node);
  trace.metadata.attributes.add_text("model", "gpt2");
  trace.metadata.attributes.add_int64("rank", 2);
  return trace;
}

TEST(NodeLinkReader, WhatIsWrittenComesBack) {
  const Trace trace = two_nodes();
  const std::string text = as_node_link(trace);
  const std::vector<RankTrace> read = traces_of(read_node_link(text, "g.json"));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].rank, 2);
  ASSERT_EQ(read[0].trace.size(), 2u);
  for (std::size_t row = 0; row < 2; ++row) {
    TraceNode wanted, got;
    trace.get(row, wanted);
    read[0].trace.get(row, got);
    EXPECT_TRUE(wanted == got) << row;
  }
  EXPECT_EQ(as_node_link(read[0].trace), text);
}

TEST(NodeLinkReader, EveryCommandReadsItAsATrace) {
  const TemporaryFile file("g.json", as_node_link(two_nodes()));
  TraceFileReport report;
  EXPECT_EQ(read_any_trace(file.path(), {}, &report).size(), 2u);
  EXPECT_EQ(report.kind, TraceFileKind::kNodeLink);
  EXPECT_EQ(report.stats.nodes, 2u);
}

// As a script on NetworkX writes it: texts as ids, no keys, tensors between ops.
constexpr std::string_view kForeign = R"json({"directed": true, "multigraph": false, "graph": {}, "nodes": [
  {"id": "x", "type": "tensor", "shape": [2, 3], "dtype": "torch.float32"},
  {"id": "mm", "type": "op"},
  {"id": "y", "node_type": "tensor", "shape": "(2, 3)", "dtype": "bfloat16"},
  {"id": "all_reduce_1"},
  {"id": "z", "color": "lightgreen", "bytes": 7}],
  "EDGES": [{"source": "x", "target": "mm"}, {"source": "mm", "target": "y"},
            {"source": "y", "target": "all_reduce_1"}, {"source": "all_reduce_1", "target": "z"}]})json";

std::string foreign(std::string_view edges_key) {
  std::string text(kForeign);
  return text.replace(text.find("EDGES"), 5, edges_key);
}

TEST(NodeLinkReader, TensorsBetweenOpsBecomeInputsAndDependencies) {
  for (const std::string_view key : {"links", "edges"}) {
    const NodeLinkGraph graph = read_node_link(foreign(key), "g.json");
    ASSERT_EQ(graph.nodes.size(), 5u) << key;
    ASSERT_EQ(graph.links.size(), 4u) << key;
    EXPECT_EQ(kind_of(graph.nodes[2]), NodeLinkKind::kTensor);
    EXPECT_EQ(kind_of(graph.nodes[3]), NodeLinkKind::kCommunication);
    EXPECT_EQ(tensor_of(graph.nodes[0]).bytes, 2 * 3 * 4);
    EXPECT_EQ(tensor_of(graph.nodes[2]).bytes, 2 * 3 * 2);
    const Trace trace = std::move(traces_of(graph)[0].trace);
    ASSERT_EQ(trace.size(), 2u);
    EXPECT_EQ(trace.name(0), "mm");
    EXPECT_EQ(trace.type(0), NodeType::kComp);
    EXPECT_EQ(trace.inputs(0).values, "[[\"x\", 24]]");
    EXPECT_EQ(trace.outputs(0).shapes, "[[2, 3]]");
    EXPECT_EQ(trace.type(1), NodeType::kCommColl);
    EXPECT_THAT(trace.data_deps(1), ElementsAre(TraceNodeId{0}));
    EXPECT_EQ(trace.find_attribute(1, attribute_name::kCommType)->integer(), 0);
    EXPECT_EQ(trace.outputs(1).values, "[[\"z\", 7]]");
  }
}

TEST(NodeLinkReader, OpsThatChangeOneTensorInPlaceDoNotWaitForEachOther) {
  const NodeLinkGraph graph = read_node_link(
      R"({"directed": true, "nodes": [{"id": "t", "type": "tensor"}, {"id": "a"}, {"id": "b"}], "links": [
          {"source": "t", "target": "a"}, {"source": "a", "target": "t"},
          {"source": "t", "target": "b"}, {"source": "b", "target": "t"}]})",
      "g.json");
  const Trace trace = std::move(traces_of(graph)[0].trace);
  EXPECT_TRUE(trace.data_deps(0).empty());
  EXPECT_THAT(trace.data_deps(1), ElementsAre(TraceNodeId{0}));
}

TEST(NodeLinkReader, PlacesStandForIds) {
  const NodeLinkGraph graph = read_node_link(
      R"({"links": [{"source": 0, "target": 1}], "directed": true, "nodes": [{"id": "a"}, {"id": "b"}]})",
      "g.json");
  ASSERT_EQ(graph.links.size(), 1u);
  EXPECT_EQ(graph.links[0].target, 1u);
}

TEST(NodeLinkReader, RanksBecomeTraces) {
  const NodeLinkGraph graph = read_node_link(
      R"({"directed": true, "nodes": [{"id": "1:0", "rank": 1, "node_id": 0, "name": "r", "type": "COMM_RECV"},
          {"id": "0:0", "rank": 0, "node_id": 0, "name": "s", "type": "COMM_SEND"}],
          "links": [{"source": "0:0", "target": "1:0", "key": "communication"}]})",
      "g.json");
  const std::vector<RankTrace> ranks = traces_of(graph);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].trace.name(0), "s");
  EXPECT_EQ(ranks[1].trace.name(0), "r");
  EXPECT_TRUE(ranks[1].trace.data_deps(0).empty());
  EXPECT_EQ(ranks[1].trace.find_attribute(0, "rank"), std::nullopt);
}

TEST(NodeLinkReader, SaysWhatIsWrong) {
  EXPECT_THAT(node_link_message(R"({"directed": false, "nodes": [], "links": []})"),
              HasSubstr("not directed"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": 1}, {"id": 1}], "links": []})"),
              HasSubstr("two nodes have the id"));
  EXPECT_THAT(
      node_link_message(R"({"directed": true, "nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]})"),
      HasSubstr("not in the file"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": 1}], "links": [{"source": 1}]})"),
              HasSubstr("no target"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": [1]}], "links": []})"),
              HasSubstr("id of a node"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": 1, "a": 1, "a": 2}], "links": []})"),
              HasSubstr("given twice"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": 1, "start_ns": -1}], "links": []})"),
              HasSubstr("start_ns"));
  EXPECT_THAT(node_link_message(R"({"directed": true, "nodes": [{"id": 1}, {"id": 2}], "links": [
      {"source": 1, "target": 2}, {"source": 2, "target": 1}]})"),
              HasSubstr("g.json"));
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(
      node_link_message(R"({"directed": true, "nodes": [{"id": 1, "a": )" + deep + "}], \"links\": []}"),
      HasSubstr("nested"));
}

TEST(NodeLinkReader, AFileCutAnywhereIsRefused) {
  const std::string whole = as_node_link(two_nodes());
  for (std::size_t length = 1; length + 2 < whole.size(); length += 7)
    EXPECT_THROW(traces_of(read_node_link(whole.substr(0, length), "g.json")), Error) << length;
}

}  // namespace
}  // namespace nadi::inline traces
