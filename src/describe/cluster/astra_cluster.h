// Clusters as ASTRA-sim describes them: a system file (JSON), a network file of its analytical back end
// (YAML) and, where there is one, a file about remote memory (JSON).
//
//   is_astra_cluster("system.json,network.yml")        // true; a folder with such files, too
//   const Cluster cluster = read_astra_cluster("inputs/system.json,inputs/network.yml");
//
// What the figures mean there, and here:
//   network    `bandwidth` is that of a link in GB/s, where 1 GB is 2^30 bytes; `latency` that of a link in
//   ns, and
//              a message through a switch crosses two. The first dimension is a node here, each further one a
//              level; every NPU has links of its own in each dimension, so a node has those of all its NPUs.
//   system     `peak-perf` in TFLOP/s, `local-mem-bw` in GB/s, where 1 GB is 10^9 bytes; `endpoint-delay` in
//   ns is
//              added to the latency of the first dimension and all others. How collectives run there:
//              astra_collectives.h. Collectives from files and the shared bus are not modelled: Error (input).
//              Keys about what is written down and the scheduling policy change no time and are ignored.
//   memory     NO_MEMORY_EXPANSION alone: remote memory is not modelled, so other types are Error (input).
#pragma once

#include <string>

#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {

bool is_astra_cluster(const std::string& what);
Cluster read_astra_cluster(const std::string& what);

}  // namespace nadi::inline describe
