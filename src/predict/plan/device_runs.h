// Lists of devices in which runs of neighbours are one entry: "0-31,40-43". The order counts: the first rank
// is on the first device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/cluster/cluster.h"

namespace nadi::inline predict {

std::string device_runs_text(std::span<const DeviceId> devices);

// `count` devices, each named once; nullopt, and what is wrong in `problem`, for any other text. Never holds
// more than `count`.
std::optional<std::vector<DeviceId>> parse_device_runs(std::string_view text, std::int64_t count,
                                                       std::string& problem);

// Ranks that follow one another on one node of a cluster.
struct NodeRanks {
  std::int32_t node = 0, kind = 0;  // number of the node; index into Cluster::kinds
  std::int64_t first_rank = 0, ranks = 0;
};
// In the order of the ranks; a node comes again where its ranks do not follow one another. The cluster has
// the devices.
std::vector<NodeRanks> nodes_in_order_of_ranks(const Cluster& cluster, std::span<const DeviceId> devices);

// Which ranks run where, one entry per run of neighbouring nodes of a kind with as many ranks each:
// "ranks 0-3 on node 0 (g5.12xlarge, 4 x a10)".
std::vector<std::string> placement_lines(const Cluster& cluster, std::span<const DeviceId> devices);

}  // namespace nadi::inline predict
