// Writes any trace that has times as a timeline in the JSON format of PyTorch's profiler (Kineto), for
// chrome://tracing, Perfetto and the tools around PyTorch. (kineto_writer.h writes what our own engine ran.)
//
//   write_trace_kineto(trace, {.trace_name = "run"}, sink);
//
// Each node is a complete event; lanes and categories are
//   - of nodes that have the attribute `stream`: the stream of the device (`device`, else 0), with the node's
//     `category`, else "kernel", or "gpu_memcpy" for memory nodes;
//   - of host ops (`is_cpu_op`): the thread `thread`, else `tid`, else 1, of the process, with the node's
//     `category`, else "cpu_op". An op that contains others lasts as long as its `inclusive_ns` says;
//   - of all others: "compute", "communication" and "memory" of the process, as "cpu_op"; what overlaps goes
//     into lanes of its own, "communication 2" and so on.
// Numbers are those of PyTorch: the pid of an event of the host is the metadata's `process`, else 1000 +
// `rank`, that of a kernel its device. The metadata's `process_name`, `thread_names`, `rank`, `world_size`
// and `base_time_ns` (what times count from) are kept, and the arrows from launches to kernels and from the
// forward to the backward pass are drawn again (trace_flows.h). Events end strictly inside those around them
// (span_nesting.h), so that durations may differ by some nanoseconds from those of the trace.
//
// Nodes that stand for time in which nothing was recorded (`category` "host_gap") and nodes without times are
// left out and counted. Arguments are the node's id and its attributes; inputs as Kineto lists them, where
// they are JSON.
#pragma once

#include <cstdint>
#include <string>

#include "nadi/chakra/chakra_writer.h"

namespace nadi::inline traces {

struct TraceKinetoOptions {
  std::string trace_name = "";
  // Dependencies as arrows (flow events of category "dependency"): many viewers become slow with them.
  bool dependencies = false;
};

struct TraceKinetoCounts {
  std::uint64_t events = 0;  // of nodes
  std::uint64_t links = 0;   // arrows of the profile
  std::uint64_t flows = 0;   // dependencies
  std::uint64_t left_out = 0;
};

// Error (input) when no node has a time. The sink is called with about 1 MiB at a time, in order; the same
// trace gives the same bytes.
TraceKinetoCounts write_trace_kineto(const Trace& trace, const TraceKinetoOptions& options,
                                     const ByteSink& sink);

}  // namespace nadi::inline traces
