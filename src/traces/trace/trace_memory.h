// Holds a trace that is being read to its limit (base/memory_limit.h). For readers, after each node:
//
//   trace.add(node);
//   expect_trace_memory(trace, allowed, byte, record_size);
#pragma once

#include <cstdint>

#include "nadi/base/memory_limit.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

// Error (environment) when the trace takes more than the limit. It looks after every 256th node and after
// every record of 64 KiB and more, so that less than 16 MiB of records go by unseen.
inline void expect_trace_memory(const Trace& trace, const MemoryAllowance& allowed, std::uint64_t byte,
                                std::uint64_t record_size) {
  constexpr std::size_t kNodesPerLook = 256;
  constexpr std::uint64_t kLongRecord = 64 << 10;
  if (trace.size() % kNodesPerLook == 0 || record_size >= kLongRecord)
    allowed.expect(trace.memory(), byte, "the trace");
}

}  // namespace nadi::inline traces
