#include "nadi/chakra/chakra_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/random_node_for_tests.h"

namespace nadi::inline traces {
namespace {

using namespace std::string_view_literals;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string written(const std::vector<TraceNode>& nodes) {
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; });
  for (const TraceNode& node : nodes) writer.write(node);
  writer.finish();
  EXPECT_EQ(writer.bytes(), bytes.size());
  EXPECT_EQ(writer.nodes(), nodes.size());
  return bytes;
}

// The node of ASTRA-sim's own all-reduce example, byte for byte as its generator writes it.
TEST(ChakraWriter, WritesTheBytesOthersWrite) {
  std::vector<TraceNode> nodes(1);
  nodes[0].id = TraceNodeId{1};
  nodes[0].name = "all_reduce_8npus_1MB";
  nodes[0].type = NodeType::kCommColl;
  add_is_cpu_op(nodes[0], false);
  add_comm_type(nodes[0], CollectiveType::kAllReduce);
  add_comm_size(nodes[0], Bytes{1 << 20});
  EXPECT_EQ(written(nodes),
            "\x07\x0a\x05"
            "0.0.4"  // 7 bytes: version
            "\x4a\x08\x01\x12\x14"
            "all_reduce_8npus_1MB"
            "\x18\x07"  // 74 bytes: id 1, name, type 7
            "\x52\x0e\x0a\x09"
            "is_cpu_op"
            "\xd8\x01\x00"  // bool (field 27) false, written
            "\x52\x0d\x0a\x09"
            "comm_type"
            "\x48\x00"  // int64 (field 9) 0, written
            "\x52\x0f\x0a\x09"
            "comm_size"
            "\x48\x80\x80\x40"sv);  // int64 2^20
}

TEST(ChakraWriter, LeavesOutWhatIsZero) {
  // Metadata, then a node with nothing in it: a record of length 0.
  EXPECT_EQ(written(std::vector<TraceNode>(1)),
            "\x07\x0a\x05"
            "0.0.4"
            "\x00"sv);
}

TEST(ChakraWriter, WritesExactTimesOnlyWhereMicrosecondsLoseSomething) {
  std::vector<TraceNode> nodes(1);
  nodes[0].start = Nanoseconds{3000};     // 3 us exactly
  nodes[0].duration = Nanoseconds{1234};  // 1 us and 234 ns
  EXPECT_EQ(written(nodes),
            "\x07\x0a\x05"
            "0.0.4"
            "\x16\x30\x03\x38\x01"  // 22 bytes: start 3, duration 1
            "\x52\x10\x0a\x0b"
            "duration_ns"
            "\x48\xd2\x09"sv);  // 1234 = 9 * 128 + 82
}

TEST(ChakraWriter, WhatIsWrittenIsReadBackExactly) {
  std::vector<TraceNode> nodes(3000);
  RandomNodes random(2);
  for (TraceNode& node : nodes) random.fill(node);
  const std::string bytes = written(nodes);
  ChakraReader reader(as_bytes(bytes), "t.et");
  EXPECT_EQ(reader.metadata().version, "0.0.4");
  TraceNode node;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_TRUE(reader.next(node));
    EXPECT_TRUE(node == nodes[i]) << "node " << i;
  }
  EXPECT_FALSE(reader.next(node));
  EXPECT_EQ(reader.stats().nodes, nodes.size());
  EXPECT_EQ(reader.stats().bytes, bytes.size());
  EXPECT_EQ(reader.stats().unknown_fields.count, 0u);
}

TEST(ChakraWriter, TracesInMemoryGiveTheSameBytes) {
  std::vector<TraceNode> nodes(300);
  RandomNodes random(3);
  Trace trace;
  trace.metadata.version = "0.0.4";
  for (TraceNode& node : nodes) {
    random.fill(node);
    trace.add(node);
  }
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  EXPECT_EQ(bytes, written(nodes));

  trace.metadata.version = "";
  for (int i = 0; i < 50; ++i) random.add_attribute(trace.metadata.attributes);
  bytes.clear();
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  const Trace again = read_chakra(as_bytes(bytes), "t.et");
  EXPECT_EQ(again.size(), trace.size());
  EXPECT_EQ(again.metadata.version, "");
  EXPECT_TRUE(std::ranges::equal(again.metadata.attributes, trace.metadata.attributes));
}

TEST(ChakraWriter, HandsOverPartsOfAboutAMebibyte) {
  std::vector<std::size_t> parts;
  ChakraWriter writer([&](std::string_view part) { parts.push_back(part.size()); });
  TraceNode node;
  const std::string name(1000, 'x');
  node.name = name;
  // A record of 2 + 3 + 1000 bytes (length, tag and length of the name, name); 1 MiB / 1005 = 1043.4, so
  // the buffer is full after 1044 nodes: 8 + 1044 * 1005 = 1,049,228 bytes.
  for (int i = 0; i < 1044; ++i) writer.write(node);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0], 1'049'228u);
  writer.finish();
  EXPECT_EQ(parts.size(), 2u);
}

}  // namespace
}  // namespace nadi::inline traces
