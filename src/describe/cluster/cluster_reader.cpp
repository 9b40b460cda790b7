#include <algorithm>
#include <array>
#include <filesystem>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/cluster/astra_cluster.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/cluster/cluster_keys.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/cluster/device_reader.h"
#include "nadi/cluster/infragraph.h"
#include "nadi/cluster/measured_json.h"
#include "nadi/cluster/nccl_transport.h"

namespace nadi::inline describe {
namespace {

namespace fs = std::filesystem;

// Far beyond any machine; keeps sums of devices within 32 bits and lists of nodes within memory.
constexpr std::int64_t kMostDevices = 10'000'000;
constexpr double kMostFactor = 1000;

FabricTopology topology_of(const JsonValue& value) {
  static constexpr std::array kTopologies = {FabricTopology::kSwitch, FabricTopology::kMesh,
                                             FabricTopology::kRing, FabricTopology::kBus};
  std::vector<std::string_view> names;
  for (const FabricTopology topology : kTopologies) {
    if (value.as_string() == to_string(topology)) return topology;
    names.push_back(to_string(topology));
  }
  throw error_at(value, format("unknown topology '{}'", value.as_string()),
                 did_you_mean(value.as_string(), names));
}

std::vector<FabricProtocol> read_protocols(const JsonValue& list) {
  std::vector<FabricProtocol> protocols;
  for (const JsonValue& object : list.elements()) {
    object.refuse_keys_except(kProtocolKeys);
    FabricProtocol protocol{.name = object.at("name").as_string()};
    if (const auto value = object.find("overhead")) protocol.overhead = duration_of(*value);
    if (const auto value = object.find("step")) protocol.step = duration_of(*value);
    if (const auto value = object.find("share")) protocol.share = number_of(*value, 0.001, 1);
    protocols.push_back(std::move(protocol));
  }
  return protocols;
}

bool uses_nccl(const JsonValue& fabric) {
  static constexpr std::array<std::string_view, 2> kTransports = {"plain", "nccl"};
  const auto transport = fabric.find("transport");
  if (!transport || transport->as_string() == kTransports[0]) return false;
  if (transport->as_string() == kTransports[1]) return true;
  throw error_at(*transport, format("unknown transport '{}'", transport->as_string()),
                 did_you_mean(transport->as_string(), kTransports));
}

Fabric read_fabric(const JsonValue& object) {
  object.refuse_keys_except(kFabricKeys);
  Fabric fabric{.kind = object.at("kind").as_string(), .bandwidth = byte_rate_of(object.at("bandwidth"))};
  const bool nccl = uses_nccl(object);
  if (!nccl || object.has("latency")) fabric.latency = duration_of(object.at("latency"));
  if (nccl) use_nccl(fabric);
  if (const auto topology = object.find("topology")) fabric.topology = topology_of(*topology);
  if (const auto value = object.find("efficiency")) fabric.efficiency = number_of(*value, 0.001, 1);
  if (const auto value = object.find("device_bandwidth")) fabric.device_bandwidth = byte_rate_of(*value);
  if (const auto value = object.find("local_bandwidth")) fabric.local_bandwidth = byte_rate_of(*value);
  if (const auto value = object.find("compute_share")) fabric.compute_share = number_of(*value, 0, 1);
  if (const auto value = object.find("busy_slowdown"))
    fabric.busy_slowdown = number_of(*value, 1, kMostFactor);
  if (const auto value = object.find("protocols")) fabric.protocols = read_protocols(*value);
  if (const auto value = object.find("measured")) fabric.measured = read_measured_collectives(*value);
  return fabric;
}

std::int32_t device_index(const JsonValue& value, Cluster& cluster) {
  const std::string& name = value.as_string();
  const auto own = std::ranges::find(cluster.devices, name, &DeviceSpec::name);
  if (own != cluster.devices.end()) return static_cast<std::int32_t>(own - cluster.devices.begin());
  const DeviceSpec* found = find_device(name);
  if (found == nullptr) {
    std::vector<std::string> known;
    for (const DeviceSpec& device : cluster.devices) known.push_back(device.name);
    for (const DeviceSpec& device : catalogue_devices()) known.push_back(device.name);
    throw error_at(value, format("unknown device '{}'", name), did_you_mean(name, known));
  }
  cluster.devices.push_back(*found);
  return static_cast<std::int32_t>(cluster.devices.size()) - 1;
}

void read_node(const JsonValue& object, Cluster& cluster) {
  object.refuse_keys_except(kNodeKeys);
  NodeSpec node{.name = object.at("name").as_string(),
                .device = device_index(object.at("device"), cluster),
                .inside = {}};
  if (const auto devices = object.find("devices"))
    node.devices = static_cast<std::int32_t>(count_of(*devices, 1, kMostDevices));
  if (const auto inside = object.find("inside"))
    node.inside = read_fabric(*inside);
  else if (node.devices > 1)
    throw error_at_key(object,
                       format("node '{}' has {} devices and no key 'inside'", node.name, node.devices),
                       "'inside' is the fabric that connects the devices of a node");
  if (const auto outside = object.find("outside")) node.outside = read_fabric(*outside);
  if (const auto price = object.find("price")) node.price_per_hour = price_of(*price);
  if (const auto value = object.find("alone_speedup")) node.alone_speedup = number_of(*value, 1, kMostFactor);
  const std::int64_t count =
      object.has("count") ? count_of(object.at("count"), 0, kMostDevices / node.devices) : 1;
  if (cluster.device_count() + count * node.devices > kMostDevices)
    throw error_at(object, format("the cluster has more than {} devices", kMostDevices));
  cluster.nodes.insert(cluster.nodes.end(), static_cast<std::size_t>(count),
                       static_cast<std::int32_t>(cluster.kinds.size()));
  cluster.kinds.push_back(std::move(node));
}

// Kinds by their names, which may stand further down.
void read_alternatives(const JsonValue& nodes, Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeSpec& kind : cluster.kinds) names.push_back(kind.name);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto list = nodes.at(i).find("alternatives");
    if (!list) continue;
    for (const JsonValue& name : list->elements()) {
      const auto found = std::ranges::find(names, name.as_string());
      if (found == names.end())
        throw error_at(name, format("unknown kind of node '{}'", name.as_string()),
                       did_you_mean(name.as_string(), names));
      cluster.kinds[i].alternatives.push_back(static_cast<std::int32_t>(found - names.begin()));
    }
  }
}

// The last level has all members of the one below; an inner one says how many make a group.
void read_levels(const JsonValue& list, Cluster& cluster) {
  std::vector<JsonValue> levels = list.elements();
  std::int64_t groups = static_cast<std::int64_t>(cluster.nodes.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const JsonValue& object = levels[i];
    object.refuse_keys_except(kLevelKeys);
    ClusterLevel level{.name = object.at("name").as_string(),
                       .members = static_cast<std::int32_t>(groups),
                       .fabric = read_fabric(object.at("fabric"))};
    if (const auto members = object.find("members")) {
      level.members = static_cast<std::int32_t>(count_of(*members, 1, kMostDevices));
      if (i + 1 == levels.size() && level.members != groups)
        throw error_at(*members, format("the last level has all {} members of the level below, not {}",
                                        groups, level.members));
    } else if (i + 1 < levels.size()) {
      throw error_at(object, format("level '{}' has no key 'members'", level.name),
                     "only the last level has all members of the level below");
    }
    groups = (groups + level.members - 1) / level.members;
    cluster.levels.push_back(std::move(level));
  }
}

std::string attention_of(const JsonValue& value) {
  static constexpr std::array<std::string_view, 2> kNames = {"fused", "unfused"};
  const std::string& name = value.as_string();
  if (std::ranges::find(kNames, name) != kNames.end()) return name;
  throw error_at(value, format("unknown attention '{}'", name), did_you_mean(name, kNames));
}

Cluster read_root(const JsonValue& root, const std::string& file) {
  if (!root.is_object()) throw error_at(root, "a cluster is a JSON object");
  root.refuse_keys_except(kClusterKeys);
  Cluster cluster;
  cluster.name = root.has("name") ? root.at("name").as_string() : fs::path(file).stem().string();
  if (const auto summary = root.find("summary")) cluster.summary = summary->as_string();
  if (const auto devices = root.find("devices")) {
    std::vector<std::string> known;
    for (const DeviceSpec& device : catalogue_devices()) known.push_back(device.name);
    cluster.devices = read_devices(*devices, find_device, known);
  }
  const JsonValue nodes = root.at("nodes");
  for (const JsonValue& node : nodes.elements()) read_node(node, cluster);
  if (cluster.nodes.empty()) throw error_at(nodes, "the cluster has no nodes");
  read_alternatives(nodes, cluster);
  if (const auto levels = root.find("levels")) read_levels(*levels, cluster);
  if (cluster.levels.empty() && cluster.nodes.size() > 1)
    throw error_at_key(nodes, format("the cluster has {} nodes and no key 'levels'", cluster.nodes.size()),
                       "'levels' has the fabrics that connect nodes, innermost first");
  if (const auto attention = root.find("attention")) cluster.attention = attention_of(*attention);
  if (const auto astra = root.find("astra_sim")) cluster.astra = read_astra_collectives(*astra);
  if (const auto sources = root.find("sources")) cluster.sources = read_sources(*sources);
  return cluster;
}

bool is_cluster_file(const std::string& what) {
  return what.find('/') != std::string::npos || what.ends_with(".json");
}

}  // namespace

Cluster cluster_of(const JsonValue& object) {
  return read_root(object, object.file());
}

Cluster parse_cluster(std::string text, const std::string& file) {
  const JsonDocument document = parse_json(std::move(text), file);
  return read_root(document.root(), file);
}

Cluster load_cluster(const std::string& what) {
  if (is_infragraph(what)) return read_infragraph(what);
  if (is_astra_cluster(what)) return read_astra_cluster(what);
  if (is_cluster_file(what)) {
    const JsonDocument document = read_json_of(what, "a cluster", {FileKind::kCluster});
    return read_root(document.root(), what);
  }
  if (auto found = find_cluster(what)) return *std::move(found);
  if (const std::string why = why_no_cluster(what); !why.empty())
    throw usage_error(why, "'nadi clusters' lists the clusters");
  throw usage_error(format("unknown cluster '{}'", what), did_you_mean(what, cluster_names()));
}

}  // namespace nadi::inline describe
