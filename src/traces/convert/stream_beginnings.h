// What the first op of a stream waited for when the profile began in the middle: an op that was running then
// is not in it. A first op that started more than `moved_time` (host_threads.h) after all that it is known to
// wait for gets a node before it that lasts as long ("host gap").
#pragma once

#include "nadi/convert/host_threads.h"

namespace nadi::inline traces {

// After everything else that device ops wait for is known. The nodes are in no lane.
void link_stream_beginnings(const LinkSource& source, LinkGraph& graph, ConversionReport& report);

}  // namespace nadi::inline traces
