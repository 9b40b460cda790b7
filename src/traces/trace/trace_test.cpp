#include "nadi/trace/trace.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "nadi/trace/random_node_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(Trace, GivesBackWhatItWasGiven) {
  Trace trace;
  std::vector<TraceNode> nodes(500);
  RandomNodes random(1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    random.fill(nodes[i]);
    EXPECT_EQ(trace.add(nodes[i]), i);
  }
  const Trace moved = std::move(trace);
  ASSERT_EQ(moved.size(), nodes.size());
  TraceNode node;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    moved.get(row, node);
    EXPECT_TRUE(node == nodes[row]) << "row " << row;
    EXPECT_EQ(moved.attribute_count(row), nodes[row].attributes.size());
  }
}

TEST(Trace, FindsAttributesAndFields) {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{9};
  node.name = "a";
  trace.add(node);
  node.clear();
  node.id = TraceNodeId{4};
  node.data_deps = {TraceNodeId{9}};
  node.attributes.add_int64("x", 1);
  node.attributes.add_text("y", "z");
  trace.add(node);
  EXPECT_EQ(trace.find_attribute(1, "x")->integer(), 1);
  EXPECT_EQ(trace.find_attribute(1, "y")->string(), "z");
  EXPECT_EQ(trace.find_attribute(0, "x"), std::nullopt);
  EXPECT_EQ(trace.find_attribute(1, "never seen"), std::nullopt);
  EXPECT_EQ(trace.attribute(1, 1).name, "y");
  EXPECT_EQ(trace.id(1), TraceNodeId{4});
  EXPECT_EQ(trace.name(0), "a");
}

TEST(Trace, RemovesDependencies) {
  Trace trace;
  TraceNode node;
  node.data_deps = {TraceNodeId{1}, TraceNodeId{2}, TraceNodeId{3}};
  node.ctrl_deps = {TraceNodeId{2}};
  trace.add(node);
  trace.add(node);
  // Each of the two nodes loses 2 once as data and once as control dependency: 2 * (1 + 1) = 4.
  EXPECT_EQ(trace.remove_dependencies([](TraceNodeId id) { return id == TraceNodeId{2}; }), 4u);
  for (std::size_t row : {0u, 1u}) {
    EXPECT_TRUE(trace.ctrl_deps(row).empty());
    ASSERT_EQ(trace.data_deps(row).size(), 2u);
    EXPECT_EQ(trace.data_deps(row)[0], TraceNodeId{1});
    EXPECT_EQ(trace.data_deps(row)[1], TraceNodeId{3});
  }
}

// The header promises 41 bytes a node, 8 a dependency and 8 for that kind of it, 12 an attribute.
TEST(Trace, TakesTheMemoryItPromises) {
  constexpr std::size_t kNodes = std::size_t{1} << 16;
  Trace trace;
  trace.reserve(2 * kNodes);  // what is not used is not counted
  TraceNode node;
  for (std::size_t i = 0; i < kNodes; ++i) {
    node.clear();
    node.id = TraceNodeId{i};
    node.name = "the same";
    node.data_deps.push_back(TraceNodeId{i});
    node.attributes.add_int64("x", static_cast<std::int64_t>(i));
    node.attributes.add_text("y", "also the same");
    trace.add(node);
  }
  // 41 + 8 + 1 * 8 + 2 * 12 = 81 bytes a node, and a few KiB for the texts.
  const auto memory = static_cast<std::size_t>(trace.memory().count());
  EXPECT_GE(memory, 81 * kNodes);
  EXPECT_LE(memory, 81 * kNodes + 8192);
}

TEST(Trace, TakesNodesWithTextsThatWereLookedUpBefore) {
  TraceNode plain;
  plain.id = TraceNodeId{7};
  plain.name = "aten::mm";
  plain.type = NodeType::kComp;
  plain.start = Nanoseconds{5};
  plain.duration = Nanoseconds{6};
  plain.ctrl_deps = {TraceNodeId{1}};
  plain.data_deps = {TraceNodeId{2}, TraceNodeId{3}};
  plain.inputs.shapes = "[[2, 2]]";
  plain.outputs.types = "['Tensor']";
  const std::int64_t grid[] = {4, 1, 1};
  plain.attributes.add_int64("stream", -7);
  plain.attributes.add_text("layer", "h.0");
  plain.attributes.add_int64_list("grid", grid);

  Trace trace;
  const std::uint64_t numbers[] = {4, 1, 1};
  const InternedAttribute attributes[] = {
      {trace.key("stream", TraceAttributeKind::kInt64), number_bits(std::int64_t{-7})},
      {trace.key("layer", TraceAttributeKind::kString), trace.intern("h.0")},
      {trace.key("grid", TraceAttributeKind::kInt64List),
       static_cast<std::uint64_t>(trace.add_list(numbers))}};
  const InternedNode node{.id = TraceNodeId{7},
                          .name = trace.intern("aten::mm"),
                          .type = NodeType::kComp,
                          .ctrl_deps = plain.ctrl_deps,
                          .data_deps = plain.data_deps,
                          .start = Nanoseconds{5},
                          .duration = Nanoseconds{6},
                          .inputs = {.shapes = trace.intern("[[2, 2]]")},
                          .outputs = {.types = trace.intern("['Tensor']")},
                          .attributes = attributes};
  EXPECT_EQ(trace.add(node), 0u);
  EXPECT_EQ(trace.add(plain), 1u);
  TraceNode got;
  for (std::size_t row = 0; row < 2; ++row) {
    trace.get(row, got);
    EXPECT_TRUE(got == plain) << "row " << row;
  }
  EXPECT_EQ(trace.text(trace.intern("h.0")), "h.0");
  EXPECT_EQ(trace.key("stream", TraceAttributeKind::kInt64), attributes[0].key);
  EXPECT_NE(trace.key("stream", TraceAttributeKind::kInt32), attributes[0].key);
}

// Rows between those that have dependencies, and after them, have none.
TEST(Trace, KnowsWhichNodesHaveNoDependencies) {
  Trace trace;
  TraceNode node;
  for (std::uint64_t i = 0; i < 6; ++i) {
    node.clear();
    if (i == 1 || i == 4) node.data_deps.push_back(TraceNodeId{i * 10});
    trace.add(node);
  }
  for (std::size_t row = 0; row < 6; ++row) {
    EXPECT_EQ(trace.data_deps(row).size(), row == 1 || row == 4 ? 1u : 0u) << "row " << row;
    EXPECT_TRUE(trace.ctrl_deps(row).empty());
  }
  EXPECT_EQ(trace.data_deps(4)[0], TraceNodeId{40});
  EXPECT_EQ(trace.remove_dependencies([](TraceNodeId id) { return id == TraceNodeId{10}; }), 1u);
  EXPECT_TRUE(trace.data_deps(1).empty());
  EXPECT_EQ(trace.data_deps(4)[0], TraceNodeId{40});
}

}  // namespace
}  // namespace nadi::inline traces
