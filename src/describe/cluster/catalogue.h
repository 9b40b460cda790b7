// Real devices and clusters, each figure with its source: share/clusters/devices.json and
// examples/clusters/*.json, which are built into the program.
//
//   const DeviceSpec* h200 = find_device("h200");
//   const std::optional<Cluster> cluster = find_cluster("dgx-h100x2");     // two nodes
//
// A cluster of one node also exists with any number of nodes: NAMExN. A device by itself is a cluster, too:
// one node with one device.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/cluster/cluster.h"

namespace nadi::inline describe {

std::span<const DeviceSpec> catalogue_devices();
// nullptr when there is none of that name. Upper and lower case are equal.
const DeviceSpec* find_device(std::string_view name);

std::span<const Cluster> catalogue_clusters();
std::optional<Cluster> find_cluster(std::string_view name);

// All names that find_cluster() takes, without the numbers of nodes; for hints.
std::vector<std::string> cluster_names();

// Why NAMExN is none although NAME is a cluster: too many nodes, or a cluster of several already. "" where
// the name is not known at all.
std::string why_no_cluster(std::string_view name);

// One node with one device of this kind.
Cluster cluster_of(const DeviceSpec& device);

}  // namespace nadi::inline describe
