// What NCCL makes of a fabric: its three protocols with their delays, and the pass through local memory.
//
//   Fabric nvswitch{.kind = "nvswitch", .bandwidth = ByteRate{300e9}};
//   use_nccl(nvswitch);
//
// Constants by kind of fabric (docs/networks.md has them with their sources):
//   nvlink, nvswitch   fitted to all-reduces of 1 MiB to 1 GiB on two, four and eight A100 of one node:
//   overheads and
//                      step delays of LL128 and Simple, the share of LL128, and a local bandwidth of 3.77
//                      times that of the links. Delays of LL: NCCL's own model (src/graph/tuning.cc) and
//                      published small all-reduces.
//   all others         NCCL's own model: delays of rings over PCIe and over networks; LL a quarter of the
//   bandwidth,
//                      LL128 92% (not over PCIe, where it is off).
#pragma once

#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {

// Sets protocols and local_bandwidth; a latency of 0 becomes that of NCCL's model. `kind` decides: "nvlink"
// and "nvswitch", "pcie" and "memory"; anything else is a network between nodes.
void use_nccl(Fabric& fabric);

}  // namespace nadi::inline describe
