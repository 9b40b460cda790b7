#include "nadi/trace/trace.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "nadi/trace/random_node_for_tests.h"

namespace nadi {
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
  trace.set_duration(1, Nanoseconds{5});
  EXPECT_EQ(trace.duration(1), Nanoseconds{5});
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

// The header promises 57 bytes a node, 8 a dependency and 12 an attribute.
TEST(Trace, TakesTheMemoryItPromises) {
  constexpr std::size_t kNodes = std::size_t{1} << 16;  // a power of two: vectors that doubled are full
  Trace trace;
  trace.reserve(kNodes);
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
  // 57 + 1 * 8 + 2 * 12 = 89 bytes a node, and a few KiB for the texts.
  const auto memory = static_cast<std::size_t>(trace.memory().count());
  EXPECT_GE(memory, 89 * kNodes);
  EXPECT_LE(memory, 89 * kNodes + 8192);
}

}  // namespace
}  // namespace nadi
