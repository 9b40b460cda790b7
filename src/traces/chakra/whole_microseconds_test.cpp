#include "nadi/chakra/whole_microseconds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {
namespace {

TraceNode lasting(std::int64_t ns, bool on_cpu = false, NodeType type = NodeType::kComp) {
  TraceNode node;
  node.type = type;
  node.duration = Nanoseconds{ns};
  add_is_cpu_op(node, on_cpu);
  return node;
}

// 1.4 us each: 1, 3 - 1, 4 - 3, 6 - 4, 7 - 6 of sums 1.4, 2.8, 4.2, 5.6, 7.0.
TEST(WholeMicroseconds, AddUp) {
  WholeMicroseconds whole;
  std::vector<std::int64_t> written;
  for (int i = 0; i < 5; ++i) written.push_back(whole.of(lasting(1400)));
  EXPECT_EQ(written, (std::vector<std::int64_t>{1, 2, 1, 2, 1}));
}

TEST(WholeMicroseconds, LeaveWholeOnesAlone) {
  WholeMicroseconds whole;
  EXPECT_EQ(whole.of(lasting(499)), 0);
  EXPECT_EQ(whole.of(lasting(3000)), 3);
  EXPECT_EQ(whole.of(lasting(1)), 1);  // 500 ns since the start, and half a microsecond is rounded up
  EXPECT_EQ(whole.of(lasting(0)), 0);
}

TEST(WholeMicroseconds, ADurationBecomesOneOfItsNeighbours) {
  WholeMicroseconds whole;
  for (std::int64_t ns = 1; ns < 100'000; ns += 37) {
    const std::int64_t micros = whole.of(lasting(ns));
    EXPECT_TRUE(micros == ns / 1000 || micros == (ns + 999) / 1000) << ns;
  }
  EXPECT_EQ(whole.of(lasting(std::numeric_limits<std::int64_t>::max())), 9'223'372'036'854'775);
}

// What the host loses is not made up for by a kernel, nor what a kernel loses by a collective.
TEST(WholeMicroseconds, EachLaneForItself) {
  WholeMicroseconds whole;
  EXPECT_EQ(whole.of(lasting(1400, true)), 1);
  EXPECT_EQ(whole.of(lasting(1400)), 1);
  EXPECT_EQ(whole.of(lasting(1400, false, NodeType::kCommColl)), 1);
  EXPECT_EQ(whole.of(lasting(1400, true)), 2);
}

TEST(WholeMicroseconds, OfASingleTimeTheNearest) {
  EXPECT_EQ(nearest_microsecond(Nanoseconds{1499}), 1);
  EXPECT_EQ(nearest_microsecond(Nanoseconds{1500}), 2);
  EXPECT_EQ(nearest_microsecond(Nanoseconds{0}), 0);
}

// What simulators read is right in sum, and what Nadi reads is exact.
TEST(WholeMicroseconds, AFileHasBoth) {
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; });
  for (std::uint64_t id = 0; id < 1000; ++id) {
    TraceNode node = lasting(1600);
    node.id = TraceNodeId{id};
    writer.write(node);
  }
  writer.finish();
  ChakraReader reader(std::as_bytes(std::span(bytes)), "t.et");
  TraceNode node;
  while (reader.next(node)) EXPECT_EQ(node.duration, Nanoseconds{1600});
  EXPECT_EQ(reader.stats().nodes, 1000u);
}

}  // namespace
}  // namespace nadi::inline traces
