// Finds the row of a node by its id.
//
//   TraceIndex index(trace);
//   if (std::optional<std::uint32_t> row = index.row_of(id)) ...
//
// Ids that count up from the first row cost nothing; ids in ascending order are searched where they lie;
// any others are sorted once, which takes 4 bytes a node. The index is for the trace as it is now: adding
// nodes makes it stale.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

class Trace;

class TraceIndex {
 public:
  explicit TraceIndex(const Trace& trace);  // the trace must outlive the index

  std::optional<std::uint32_t> row_of(TraceNodeId id) const;

  // Two rows with the same id, the first such pair in the order of the second row; nothing when ids are
  // unique, as they must be for row_of() to make sense.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> duplicate() const { return duplicate_; }

 private:
  enum class Layout { kCounting, kAscending, kSorted };

  const Trace* trace_;
  Layout layout_ = Layout::kCounting;
  std::vector<std::uint32_t> by_id_;  // kSorted: rows in the order of their ids
  std::optional<std::pair<std::uint32_t, std::uint32_t>> duplicate_;
};

}  // namespace nadi::inline traces
