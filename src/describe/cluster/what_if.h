// Changes of a cluster in one line, to ask what they would bring: `--what-if`.
//
//   apply_what_if(cluster, "link.nvlink.bandwidth=2x");        // every fabric of kind "nvlink", "nvswitch"
//   apply_what_if(cluster, "link.nodes.latency=1us");          // the level named "nodes"
//   apply_what_if(cluster, "device.a10.memory_bandwidth=1 TB/s");
//
// The thing is `link.KIND` (a kind of fabric, "inside" for the fabrics in nodes, or the name of a level) or
// `device.NAME`; `*` means all. The figure is bandwidth, latency or efficiency of a link; matrix_peak,
// vector_peak, memory_bandwidth, memory, launch_overhead or price of a device. The value is a factor ("2x")
// or a quantity with its unit.
#pragma once

#include <string_view>

#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {

// Error (usage) with the nearest name for a thing or a figure that is not there. Measured collectives of a
// changed fabric, and measured ops of a changed device, no longer hold and are forgotten.
void apply_what_if(Cluster& cluster, std::string_view change);

}  // namespace nadi::inline describe
