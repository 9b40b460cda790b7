// Arrows that PyTorch's profiler draws between events, recovered from a trace that was converted from it.
//
//   for (const TraceFlow& flow : flows_of(trace)) draw(flow.from, flow.to);
//
// "ac2g": from the call of the runtime to what it launched on the device, both of one `correlation`.
// "fwdbwd": from an op of the forward pass to the op of the backward pass that autograd made of it, both of
// one `Sequence number`: the last op of the forward pass that has it, and the first one of the backward pass,
// whose `Fwd thread id` is not 0 and which is not the engine's own frame around it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nadi::inline traces {

class Trace;

struct TraceFlow {
  std::string_view name;   // "ac2g", "fwdbwd"
  std::uint64_t id = 0;    // distinct among those of a name: the correlation; a number from 1 on
  std::uint32_t from = 0;  // rows
  std::uint32_t to = 0;
};

// Those of launches in the order of what they launch, then those of the backward pass in the order of its
// ops.
std::vector<TraceFlow> flows_of(const Trace& trace);

}  // namespace nadi::inline traces
