// Traces of one collective, or of one message, for tests of simulators: <prefix>.<rank>.et for each rank.
//
//   const CollectiveTraces traces{.kind = *find_collective("all-reduce"), .reduction = "sum", .size = 1_MiB,
//                                 .ranks = 8};
//   const CollectiveTraceReport report = write_collective_traces(traces, "out/all_reduce", {});
//
// A trace has one node at most: a message is sent by rank 0 and received by rank 1, and other ranks do
// nothing. The files appear together, when all of them are on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {

struct CollectiveKind {
  std::string_view name;               // "all-reduce"
  std::optional<CollectiveType> type;  // nothing means rank 0 sends to rank 1
  bool reduces() const;
};
std::span<const CollectiveKind> collective_kinds();
const CollectiveKind* find_collective(std::string_view name);  // nullptr when there is none
std::span<const std::string_view> reductions();                // "sum" first

struct CollectiveTraces {
  CollectiveKind kind;
  std::string_view reduction = {};  // "" where nothing is reduced
  Bytes size;                       // of each rank's contribution
  std::int64_t ranks = 0;
};

struct CollectiveTraceOptions {
  Overwrite overwrite = Overwrite::kRefuse;
  // Files that were written. Called after each file; may throw to stop.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

struct CollectiveTraceReport {
  std::int64_t nodes = 0;
  Bytes bytes;
};

// Error: usage for an existing file, environment when a file cannot be written.
CollectiveTraceReport write_collective_traces(const CollectiveTraces& traces,
                                              const std::filesystem::path& prefix,
                                              const CollectiveTraceOptions& options);

}  // namespace nadi::inline traces
