// Clusters as JSON: what a user gives as --cluster, and what `nadi calibrate` writes.
//
//   const Cluster cluster = load_cluster("dgx-h100x2");              // a name of the catalogue
//   const Cluster mine = load_cluster("cluster.json");               // a file
//   write_text(path, cluster_text(mine));                            // the same file again, in full
//
// The format has a JSON schema: cluster_schema(). In short:
//
//   {
//     "name": "a10-8x4",
//     "devices": {"my-a10": {"base": "a10", "memory": "22 GiB"}},     // only what the catalogue lacks
//     "nodes": [{"name": "g5", "count": 8, "device": "my-a10", "devices": 4, "price": "9.77 $/h",
//                "inside": {"kind": "pcie", "topology": "bus", "bandwidth": "128 Gbit/s", "latency": "5
//                us"}}],
//     "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "bandwidth": "40 Gbit/s", "latency": "20
//     us"}}], "sources": {"price": "AWS EC2 on-demand prices, us-east-1, 2023"}
//   }
//
// Quantities are texts with a unit. A key that is not in the schema is Error (input) with its place and the
// nearest key; so is a value out of bounds. Defaults are in the schema, too.
#pragma once

#include <string>
#include <string_view>

#include "nadi/cluster/cluster.h"

namespace nadi::inline ground {
class JsonValue;
}  // namespace nadi::inline ground

namespace nadi::inline describe {

// `what` is a file or a name of the catalogue (catalogue.h); or files of ASTRA-sim (astra_cluster.h): a
// folder, or "system.json,network.yml[,memory.json]". Error (usage) with the nearest name for an unknown one.
Cluster load_cluster(const std::string& what);

// A cluster within another file, as an object of its own.
Cluster cluster_of(const JsonValue& object);

// Reads a file alone; `file` is its name in messages.
Cluster parse_cluster(std::string text, const std::string& file);

// The cluster with all of its devices in full, so that it does not depend on the catalogue. load_cluster() of
// it gives an equal cluster.
std::string cluster_text(const Cluster& cluster);

// The JSON schema of the format, as a text.
std::string_view cluster_schema();

}  // namespace nadi::inline describe
