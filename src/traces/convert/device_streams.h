// The streams of a profile's devices as nodes: each depends on the call that launched it and on what ran
// before it on its stream.
//
// Work of one stream that was recorded as overlapping (a captured graph shows its branches on one stream)
// stays parallel: an op waits for those before it that had ended when it started.
//
// The launch of an op is the call with its correlation; where the profile has none, the op with its "External
// id". An op without either was launched before the profile began, or by a thread that was not recorded: it
// waits for its stream only. What such ops waited for besides is not known, so time in which their stream was
// idle before them becomes a node of its own ("host gap", as in host_threads.h) as soon as it adds up to more
// than a fifth of `moved_time`: their starts depend on nothing else.
//
// A copy that had ended before the call that launched it returned (from or to pageable memory; cudaMemcpy)
// held up that call: the call waits for the copy, and the copy for what was before the call.
//
// Layer and phase of an op are those of its launch; of an op of a graph, those of the call that was captured,
// where it is known.
#pragma once

#include "nadi/convert/graph_captures.h"
#include "nadi/convert/host_threads.h"

namespace nadi::inline traces {

void link_device_streams(const LinkSource& source, const IdTable& launches, const GraphCaptures& captures,
                         LinkGraph& graph, ConversionReport& report);

}  // namespace nadi::inline traces
