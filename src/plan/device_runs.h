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

namespace nadi {

std::string device_runs_text(std::span<const DeviceId> devices);

// `count` devices, each named once; nullopt, and what is wrong in `problem`, for any other text. Never holds
// more than `count`.
std::optional<std::vector<DeviceId>> parse_device_runs(std::string_view text, std::int64_t count,
                                                       std::string& problem);

// Which ranks run where, one entry per run of neighbouring nodes of a kind with as many ranks each:
// "ranks 0-3 on node 0 (g5.12xlarge, 4 x a10)".
std::vector<std::string> placement_lines(const Cluster& cluster, std::span<const DeviceId> devices);

}  // namespace nadi
