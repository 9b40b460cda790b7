#include "nadi/chakra/node_link_writer.h"

#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

TEST(NodeLinkWriter, WritesWhatGraphLibrariesRead) {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{1};
  node.name = "a\tb\xff";
  node.type = NodeType::kComp;
  node.duration = Nanoseconds{5};
  node.attributes.add_text("name", "taken");
  node.attributes.add_text("attr_name", "taken, too");
  node.attributes.add_int64("num_ops", -7);
  node.attributes.add_double("share", 0.25);
  trace.add(node);
  node.clear();
  node.id = TraceNodeId{18446744073709551615u};
  node.type = NodeType::kCommColl;
  node.ctrl_deps = {TraceNodeId{1}, TraceNodeId{5}};
  node.data_deps = {TraceNodeId{1}};
  const std::array dimensions{true, false};
  node.attributes.add_bool_list(attribute_name::kInvolvedDimensions, dimensions);
  node.inputs.shapes = "[[1]]";
  trace.add(node);
  trace.metadata.attributes.add_int64("rank", 2);
  std::string text;
  const NodeLinkCounts counts = write_node_link(trace, [&](std::string_view part) { text += part; });
  EXPECT_EQ(counts.links, 2u);
  EXPECT_EQ(counts.left_out, 1u);
  const Json graph = Json::parse(text);
  EXPECT_EQ(graph["directed"], true);
  EXPECT_EQ(graph["multigraph"], true);
  EXPECT_EQ(graph["graph"], Json::parse(R"({"version": "0.0.4", "rank": 2})"));
  EXPECT_EQ(graph["nodes"], Json::parse(R"([
    {"id": 1, "name": "a\tb\ufffd", "type": "COMP", "start_ns": 0, "duration_ns": 5, "attr_name": "taken",
     "attr_attr_name": "taken, too", "num_ops": -7, "share": 0.25},
    {"id": 18446744073709551615, "name": "", "type": "COMM_COLL",
     "inputs": {"values": "", "shapes": "[[1]]", "types": ""}, "involved_dim": [true, false]}])"));
  EXPECT_EQ(graph["links"], Json::parse(R"([
    {"source": 1, "target": 18446744073709551615, "key": "control"},
    {"source": 1, "target": 18446744073709551615, "key": "data"}])"));
}

TEST(NodeLinkWriter, WritesATraceWithoutNodes) {
  std::string text;
  write_node_link(Trace{}, [&](std::string_view part) { text += part; });
  EXPECT_TRUE(Json::parse(text)["nodes"].empty());
}

}  // namespace
}  // namespace nadi::inline traces
