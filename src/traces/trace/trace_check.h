// Finds out whether a trace is one that can be replayed: every id occurs once, every dependency is on a
// node of the trace, and no node waits for itself, directly or through others. Control and data
// dependencies count alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace nadi::inline traces {

class Trace;
class TraceIndex;

// Where the nodes came from, for messages: the file, and the byte at which each row's record starts. Both
// may be empty.
struct TraceOrigin {
  std::string file;
  std::span<const std::uint64_t> record_bytes;
};

// Each throws Error (input) with the offending node and its byte.
void check_unique_ids(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin = {});
void check_parents_exist(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin = {});
// Needs the two above to hold. Depth-first search with its own stack: linear time, any depth; free of
// memory when every node comes after the nodes it waits for.
void check_no_cycle(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin = {});

// All three.
void check_trace(const Trace& trace, const TraceOrigin& origin = {});

}  // namespace nadi::inline traces
