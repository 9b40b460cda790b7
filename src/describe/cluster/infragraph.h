// Clusters as InfraGraph describes them: a graph of devices, their components and the links between them
// (github.com/Keysight/infragraph), as JSON.
//
//   is_infragraph("pod.json,h100")                             // true
//   const Cluster cluster = read_infragraph("pod.json,h100");  // its XPUs are H100
//
// The graph says how many XPUs there are and what connects them, and nothing of how fast one computes: that is
// a device of the catalogue, behind a comma.
//
//   node      an instance whose device has components of the choice `xpu`; other instances are switches
//   inside    links of a node's XPUs to components that are no `nic` and no `port` (a switch), or to each other
//             (a mesh). Of links of several names, as NVLink and PCIe, those with the most bandwidth count
//   between   edges of the infrastructure that leave a node; again of the name with the most bandwidth. What
//             connects nodes is taken as a switch without a bottleneck
//   figures   `bandwidth` in gigabits_per_second or gigabytes_per_second (10^9), in each direction; of
//             `latency` two links make a way over a switch. Without one: 2 us inside, 5 us between nodes
//
// Refused: a link that counts without a bandwidth, or with gigatransfers, which do not say how many lanes
// there are; schemes other than one2one and many2many.
#pragma once

#include <string>

#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {

// FILE.json or FILE.json,DEVICE.
bool is_infragraph(const std::string& what);
// Throws Error: usage without a device, input with the place.
Cluster read_infragraph(const std::string& what);

}  // namespace nadi::inline describe
