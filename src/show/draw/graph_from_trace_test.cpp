#include "nadi/draw/graph_from_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/base/format.h"
#include "nadi/draw/collapse.h"
#include "nadi/draw/graph_boxes.h"
#include "nadi/draw/graph_for_tests.h"
#include "nadi/draw/layer_name.h"
#include "nadi/draw/tensor_list.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

GraphView graph_of(const Trace& trace) {
  GraphMaker maker({.members = true});
  maker.add(trace, 0);
  return maker.finish();
}

std::set<std::string> edges_of(const GraphView& view) {
  std::set<std::string> edges;
  for (const GraphEdge& edge : view.edges)
    edges.insert(
        format("{} {} {}", view.nodes[edge.from].name, to_string(edge.kind), view.nodes[edge.to].name));
  return edges;
}

TEST(TensorList, ReadsBothSpellings) {
  const auto own = listed_tensors({R"([["a.b", 8], ["c", 4]])", "[[2], []]", R"(["f32", "i32"])"});
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].name, "a.b");
  EXPECT_EQ(own[0].shape, "2");
  EXPECT_EQ(own[1].dtype, "i32");
  const auto pytorch = listed_tensors(
      {"[[7, 3, 0, 6, 4, 'cuda:0'], 1, [[8, 3, 0, 2, 8, 'cpu'], [9, 4, 0, 1, 8, 'cpu']], '', None]",
       "[[2, 3], [], [[2], [1]], [], []]",
       "['Tensor(float)', 'Int', 'GenericList[Tensor(long),Tensor(long)]', 'String', 'None']"});
  ASSERT_EQ(pytorch.size(), 3u);
  EXPECT_EQ(pytorch[0].name, "tensor 7");
  EXPECT_EQ(pytorch[0].bytes, 24);
  EXPECT_EQ(pytorch[0].shape, "2×3");
  EXPECT_EQ(pytorch[0].dtype, "float");
  EXPECT_EQ(pytorch[2].bytes, 8);
  EXPECT_EQ(pytorch[2].dtype, "long");
}

TEST(TensorList, TakesAnything) {
  const std::string deep(100'000, '[');
  for (const std::string_view text :
       {"", "[", "]", "[[", "[]]", "x", "['", "[[1, 2, 3, 4, 9223372036854775807, 5]]", "[[\"a\"]]",
        "[[\"a\", \"b\"]]", "[[[[[[1]]]]]]"})
    EXPECT_LE(listed_tensors({text, text, text}).size(), 1u) << text;
  EXPECT_THAT(listed_tensors({deep, deep, deep}), IsEmpty());
}

TEST(LayerName, HasNumbersAndBoxes) {
  EXPECT_EQ(layer_number("transformer.h.13.attn"), 13);
  EXPECT_EQ(layer_number("lm_head"), std::nullopt);
  EXPECT_EQ(layer_number("a.99999999999999999999.b"), std::nullopt);
  EXPECT_EQ(layer_box("model.layers.3.mlp.up"), "model.layers.3");
  EXPECT_EQ(layer_box("transformer.wte"), "transformer.wte");
  EXPECT_EQ(block_box("transformer.h.3.mlp.c_fc"), "transformer.h.3.mlp");
  EXPECT_EQ(block_box("transformer.h.3"), "transformer.h.3");
  EXPECT_EQ(within_layer("transformer.h.3.mlp.c_fc"), "mlp.c_fc");
}

TEST(GraphFromTrace, PutsTensorsBetweenOps) {
  const GraphView view = graph_of(small_trace());
  EXPECT_EQ(view.count(GraphNodeKind::kOp), 2u);
  EXPECT_EQ(view.count(GraphNodeKind::kCommunication), 1u);
  EXPECT_EQ(view.count(GraphNodeKind::kTensor), 7u);  // x, weight, y, y:1, z, bias, out; the view is none
  EXPECT_THAT(edges_of(view),
              UnorderedElementsAre("x data m.h.0.fc.matmul", "m.h.0.fc.weight data m.h.0.fc.matmul",
                                   "m.h.0.fc.matmul data y", "m.h.0.fc.matmul data y:1",
                                   "y data m.h.0.fc.all_reduce", "m.h.0.fc.all_reduce data z",
                                   "z data m.h.1.add", "m.h.1.bias data m.h.1.add", "m.h.1.add data out"));
  for (const GraphNode& node : view.nodes)
    if (node.name == "y") {
      EXPECT_EQ(node.shape, "2×4");
      EXPECT_EQ(node.bytes, 32);
      EXPECT_EQ(node.layer, "m.h.0.fc");
    }
}

TEST(GraphFromTrace, AVariableHasANodeForEachValue) {
  Trace trace;
  TraceNode node;
  for (std::uint64_t i = 0; i < 3; ++i) {
    node.clear();
    node.id = TraceNodeId{i};
    node.name = "step";
    node.type = NodeType::kComp;
    node.inputs = node.outputs = {R"([["v", 4]])", "[[1]]", R"(["f32"])"};
    if (i > 0) node.data_deps = {TraceNodeId{i - 1}};
    trace.add(node);
  }
  const GraphView view = graph_of(trace);
  EXPECT_EQ(view.count(GraphNodeKind::kTensor), 4u);  // before, and behind each step
  EXPECT_EQ(view.edges.size(), 6u);
  std::set<std::string> ids;
  for (const GraphNode& each : view.nodes) ids.insert(each.id.dump());
  EXPECT_EQ(ids.size(), view.nodes.size());
}

TEST(GraphFromTrace, WithoutTensorsEdgesAreDirect) {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{4};
  node.name = "a";
  trace.add(node);
  node.clear();
  node.id = TraceNodeId{5};
  node.name = "b";
  node.data_deps = {TraceNodeId{4}};
  node.ctrl_deps = {TraceNodeId{4}};
  trace.add(node);
  const GraphView view = graph_of(trace);
  EXPECT_EQ(view.without_tensors, 2u);
  EXPECT_THAT(edges_of(view), UnorderedElementsAre("a data b", "a control b"));
}

TEST(GraphFromTrace, JoinsRanks) {
  GraphMaker maker({.many_ranks = true});
  for (const std::int64_t rank : {0, 1, 2}) {
    maker.add(small_trace(), rank);
    Trace messages;
    TraceNode node;
    node.id = TraceNodeId{7};
    node.name = "send";
    node.type = NodeType::kCommSend;
    add_comm_dst(node, rank == 0 ? 1 : 0);
    add_comm_tag(node, 3);
    messages.add(node);
    node.clear();
    node.id = TraceNodeId{8};
    node.name = "receive";
    node.type = NodeType::kCommRecv;
    add_comm_src(node, 0);
    add_comm_tag(node, 3);
    messages.add(node);
    maker.add(messages, rank);
  }
  const GraphView view = maker.finish();
  std::size_t collectives = 0, sent = 0;
  for (const GraphEdge& edge : view.edges) {
    if (edge.kind != GraphEdgeKind::kCommunication) continue;
    ++(view.nodes[edge.from].name == "send" ? sent : collectives);
    if (view.nodes[edge.from].name == "send") {
      EXPECT_EQ(view.nodes[edge.from].rank, 0);
      EXPECT_EQ(view.nodes[edge.to].rank, 1);
    } else {
      EXPECT_NE(view.nodes[edge.from].rank, view.nodes[edge.to].rank);
    }
  }
  EXPECT_EQ(collectives, 3u);  // a ring of three
  EXPECT_EQ(sent, 1u);         // 0 to 1; nobody receives the others
}

TEST(Collapse, BoxesHaveSumsAndBoundaries) {
  const GraphView view = collapsed(graph_of(small_trace()), CollapseTo::kLayer);
  ASSERT_EQ(view.nodes.size(), 3u);  // two layers and the tensor between them
  EXPECT_EQ(view.nodes[0].name, "m.h.0");
  EXPECT_EQ(view.nodes[0].ops, 1u);
  EXPECT_EQ(view.nodes[0].communications, 1u);
  EXPECT_EQ(view.nodes[0].communicated_bytes, 32);
  EXPECT_EQ(view.nodes[0].flops, 48);
  EXPECT_EQ(view.nodes[0].tensors, 4u);  // x, weight, y, y:1
  EXPECT_THAT(edges_of(view), UnorderedElementsAre("m.h.0 data z", "z data m.h.1"));
}

TEST(Collapse, CutsKeepWhatGoesInAndOut) {
  const GraphView one = kept_layers(graph_of(small_trace()), parse_number_ranges("1", "--layers"));
  EXPECT_THAT(edges_of(one),
              UnorderedElementsAre("z data m.h.1.add", "m.h.1.bias data m.h.1.add", "m.h.1.add data out"));
  EXPECT_THAT(layers_of(graph_of(small_trace())), ElementsAre(0, 1));
  EXPECT_THAT(
      edges_of(without_tensors(graph_of(small_trace()))),
      UnorderedElementsAre("m.h.0.fc.matmul data m.h.0.fc.all_reduce", "m.h.0.fc.all_reduce data m.h.1.add"));
  EXPECT_EQ(without_unread(graph_of(small_trace())).count(GraphNodeKind::kTensor),
            6u);  // y:1 is gone, out stays
}

TEST(Collapse, CommunicationHasABoxBetweenTwo) {
  const GraphView view = collapsed(graph_of(small_trace()), CollapseTo::kCommunication);
  ASSERT_EQ(view.nodes.size(), 3u);
  EXPECT_TRUE(view.nodes[0].is_box);
  EXPECT_EQ(view.nodes[1].kind, GraphNodeKind::kCommunication);
  EXPECT_EQ(view.edges.size(), 2u);
}

TEST(GraphBoxes, AreATreeOfLayers) {
  const GraphView view = graph_of(small_trace());
  const GraphBoxes boxes = boxes_of(view);
  ASSERT_EQ(boxes.all.size(), 2u);
  EXPECT_EQ(boxes.all[0].title, "m.h.0");
  EXPECT_EQ(boxes.all[0].parent, kNoBox);
  EXPECT_TRUE(boxes.all[0].is_layer);
  EXPECT_EQ(boxes.of_node[2], 1u);
}

TEST(GraphBoxes, HoldTheModulesOfAProfile) {
  GraphView view;
  view.ranks = {0};
  for (const char* module :
       {"Net_0.NetLayer_0.Attention_0.Linear_1", "Net_0.NetLayer_0.Attention_0", "Net_0.Linear_9"})
    view.nodes.emplace_back().layer = module;
  const GraphBoxes boxes = boxes_of(view);
  ASSERT_EQ(boxes.all.size(), 4u);
  EXPECT_EQ(boxes.all[boxes.of_node[0]].title, "Linear_1");
  EXPECT_EQ(boxes.all[boxes.of_node[1]].title, "Attention_0");
  EXPECT_EQ(boxes.all[boxes.of_node[0]].parent, boxes.of_node[1]);
  EXPECT_EQ(boxes.all[boxes.all[boxes.of_node[1]].parent].title, "Net_0.NetLayer_0");
  EXPECT_FALSE(boxes.all[boxes.of_node[1]].is_layer);
  EXPECT_EQ(boxes.all[boxes.of_node[2]].title, "Net_0.Linear_9");
}

}  // namespace
}  // namespace nadi::inline show
