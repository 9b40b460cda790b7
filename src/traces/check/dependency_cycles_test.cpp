#include "nadi/check/dependency_cycles.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "nadi/check/traces_for_tests.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

// Reference: who reaches whom, by trying; a knot is a set of rows that reach each other.
std::set<std::set<std::uint32_t>> knots_by_trying(const Trace& trace) {
  const std::size_t rows = trace.size();
  std::vector<std::vector<bool>> reaches(rows, std::vector<bool>(rows));
  const TraceIndex index(trace);
  for (std::size_t row = 0; row < rows; ++row)
    for (const TraceNodeId id : trace.data_deps(row))
      if (const auto parent = index.row_of(id); parent && *parent != row) reaches[row][*parent] = true;
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j)
        if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
  std::set<std::set<std::uint32_t>> knots;
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::set<std::uint32_t> knot;
    for (std::uint32_t other = 0; other < rows; ++other)
      if (reaches[row][other] && reaches[other][row]) knot.insert(other);
    if (knot.size() > 1) knots.insert(knot);
  }
  return knots;
}

TEST(DependencyCycles, AreThoseFoundByTrying) {
  std::mt19937_64 random(7);
  int with_knots = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t nodes = 2 + random() % 12;
    std::vector<CheckedNodeForTests> words;
    for (std::uint64_t id = 0; id < nodes; ++id) {
      words.push_back({.id = id});
      for (std::uint64_t n = random() % 3; n > 0; --n) words.back().data.push_back(random() % (nodes + 1));
    }
    const Trace trace = trace_of(words);
    const TraceIndex index(trace);
    const std::set<std::set<std::uint32_t>> expected = knots_by_trying(trace);
    const auto cycles = find_cycles(trace, index, FollowedDependencies::kControlAndData);
    ASSERT_EQ(cycles.size(), expected.size()) << "round " << round;
    with_knots += cycles.empty() ? 0 : 1;
    for (const DependencyCycle& cycle : cycles) {
      ASSERT_GE(cycle.rows.size(), 2u);
      // Each waits for the next, all are of one knot, and the first is the lowest.
      for (std::size_t i = 0; i < cycle.rows.size(); ++i) {
        const auto deps = trace.data_deps(cycle.rows[i]);
        const TraceNodeId next = trace.id(cycle.rows[(i + 1) % cycle.rows.size()]);
        EXPECT_NE(std::find(deps.begin(), deps.end(), next), deps.end());
        EXPECT_GE(cycle.rows[i], cycle.rows[0]);
      }
      const auto knot = std::find_if(expected.begin(), expected.end(),
                                     [&](const auto& rows) { return rows.contains(cycle.rows[0]); });
      ASSERT_NE(knot, expected.end());
      EXPECT_EQ(cycle.knot, knot->size());
    }
  }
  EXPECT_GT(with_knots, 50);
}

}  // namespace
}  // namespace nadi::inline traces
