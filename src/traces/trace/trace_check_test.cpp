#include "nadi/trace/trace_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

// Nodes as (id, ids waited for), named n0, n1, ...
Trace make_trace(const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& nodes) {
  Trace trace;
  TraceNode node;
  for (const auto& [id, parents] : nodes) {
    node.clear();
    node.id = TraceNodeId{id};
    node.name = node.keep("n" + std::to_string(id));
    for (std::uint64_t parent : parents) node.data_deps.push_back(TraceNodeId{parent});
    trace.add(node);
  }
  return trace;
}

std::string failure(const Trace& trace) {
  try {
    check_trace(trace);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.message();
  }
  return "";
}

TEST(TraceIndex, FindsRowsInEveryLayout) {
  for (const std::vector<std::uint64_t>& ids : std::vector<std::vector<std::uint64_t>>{
           {}, {7}, {0, 1, 2, 3}, {5, 6, 7}, {2, 3, 10, 500}, {9, 1, 4, 8}, {~std::uint64_t{0}, 0, 3}}) {
    Trace trace;
    TraceNode node;
    for (std::uint64_t id : ids) {
      node.id = TraceNodeId{id};
      trace.add(node);
    }
    const TraceIndex index(trace);
    for (std::uint32_t row = 0; row < ids.size(); ++row) EXPECT_EQ(index.row_of(TraceNodeId{ids[row]}), row);
    for (std::uint64_t absent : {std::uint64_t{11}, std::uint64_t{1000}, ~std::uint64_t{1}})
      EXPECT_EQ(index.row_of(TraceNodeId{absent}), std::nullopt);
    EXPECT_EQ(index.duplicate(), std::nullopt);
  }
}

TEST(TraceIndex, ReportsTheFirstRepetition) {
  const Trace trace = make_trace({{3, {}}, {1, {}}, {3, {}}, {1, {}}, {3, {}}});
  EXPECT_EQ(TraceIndex(trace).duplicate(), (std::pair<std::uint32_t, std::uint32_t>{0, 2}));
}

TEST(TraceCheck, TakesWhatCanBeReplayed) {
  EXPECT_EQ(failure(Trace{}), "");
  EXPECT_EQ(failure(make_trace({{0, {}}, {1, {0}}, {2, {0, 1, 1}}})), "");
  EXPECT_EQ(failure(make_trace({{0, {2, 1}}, {1, {2}}, {2, {}}})), "");  // parents after their children
}

TEST(TraceCheck, NamesWhatIsWrong) {
  EXPECT_EQ(failure(make_trace({{1, {}}, {1, {}}})), "node id 1 is used twice: by 'n1' and here by 'n1'");
  EXPECT_EQ(failure(make_trace({{1, {}}, {2, {1, 5}}})),
            "node 2 'n2' has a data dependency on node 5, which is not in the file");
  EXPECT_EQ(failure(make_trace({{1, {1}}})), "a node waits for itself: node 1 'n1' -> node 1");
  // Node 0 hangs off the cycle 1 -> 2 -> 3 -> 1 and is not part of it.
  EXPECT_EQ(failure(make_trace({{0, {3}}, {1, {2}}, {2, {3}}, {3, {1}}})),
            "3 nodes wait for each other in a cycle: node 1 'n1' -> node 2 'n2' -> node 3 'n3' -> node 1");
}

TEST(TraceCheck, ShortensLongCycles) {
  // 12 nodes: the first 5, the last 3, and 12 - 5 - 3 = 4 between.
  std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> nodes;
  for (std::uint64_t i = 0; i < 12; ++i) nodes.push_back({i, {(i + 1) % 12}});
  EXPECT_EQ(
      failure(make_trace(nodes)),
      "12 nodes wait for each other in a cycle: node 0 'n0' -> node 1 'n1' -> node 2 'n2' -> node 3 'n3' -> "
      "node 4 'n4' -> (4 more) -> node 9 'n9' -> node 10 'n10' -> node 11 'n11' -> node 0");
}

// A recursive search would overflow the stack here.
TEST(TraceCheck, ChainsOfAMillionAreFine) {
  constexpr std::uint64_t kLength = 1'000'000;
  Trace trace;
  TraceNode node;
  for (std::uint64_t i = 0; i < kLength; ++i) {
    node.id = TraceNodeId{i};
    node.data_deps.clear();
    if (i + 1 < kLength) node.data_deps.push_back(TraceNodeId{i + 1});  // each waits for the next
    trace.add(node);
  }
  EXPECT_EQ(failure(trace), "");
}

}  // namespace
}  // namespace nadi::inline traces
