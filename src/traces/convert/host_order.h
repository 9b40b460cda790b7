// The order of ops in a host's trace that comes without a profile: it has no times, but an op gets its id
// when it begins. So the ops of a thread are a chain in the order of their ids, as those of a profile are in
// the order of their starts.
#pragma once

#include "nadi/convert/link_graph.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi::inline traces {

// For a graph that has nodes of this trace only.
void link_host_order(const HostTrace& host, LinkGraph& graph);

}  // namespace nadi::inline traces
