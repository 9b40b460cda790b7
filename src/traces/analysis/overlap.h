// Communication of a rank by kind and group: what it carried, how fast, and how much of it was hidden behind
// computation.
//
//   for (const CommunicationRow& row : communication_rows(timeline, group_sizes))
//     use(row.kind, row.group, row.hidden(), row.algorithm_bytes(), row.bus_bytes());
//
// Sizes and bandwidths are those of nccl-tests (see recording/execution_communication.h): the size is that of
// the whole tensor, so that an all-gather among n counts n times what a rank puts in (its comm_size). Bus
// bandwidth needs the number of members, and so does the size of an all-gather: where neither the node nor
// the caller knows it, they are not given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// Members by name of the group (pg_name).
using GroupSizes = std::map<std::string, std::int64_t, std::less<>>;

struct CommunicationRow {
  NodeType type = NodeType::kCommColl;
  std::optional<CollectiveType> collective = {};
  std::string kind = {};                     // "ALL_REDUCE": see kind_of()
  std::string group = {};                    // pg_name; "" where there is none
  std::uint32_t group_number = 0;            // of the text of pg_name in the trace
  std::optional<std::int64_t> members = {};  // of the group; of a message the two ends
  std::int64_t calls = 0;
  Nanoseconds time = {};       // of each call, summed
  Nanoseconds under_way = {};  // while at least one call lasted
  Nanoseconds exposed = {};    // of that, while nothing computed
  Nanoseconds waited = {};     // of `time`, for a rank that came late; 0 until calls of all ranks are matched
  std::int64_t calls_without_size = 0;
  Bytes bytes = {};  // comm_size, summed

  Nanoseconds transfer() const { return time - waited; }
  Nanoseconds hidden() const { return under_way - exposed; }
  // Sizes as nccl-tests counts, and the same times the bus factor: 2 (n - 1) / n for an all-reduce among n,
  // (n - 1) / n for all-gather, reduce-scatter and all-to-all, 1 for the others. Nothing where a call's size
  // or a number of members that is needed is not known.
  std::optional<double> algorithm_bytes() const;
  std::optional<double> bus_bytes() const;
};

// By kind and group, the longest time first. Times are 0 without a clock.
std::vector<CommunicationRow> communication_rows(const Timeline& timeline, const GroupSizes& sizes = {});

}  // namespace nadi::inline traces
