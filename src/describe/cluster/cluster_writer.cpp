#include <algorithm>

#include "nadi/base/json.h"
#include "nadi/base/parse_rate.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/cluster/device_reader.h"
#include "nadi/cluster/measured_json.h"

namespace nadi::inline describe {
namespace {

Json fabric_json(const Fabric& fabric) {
  Json json{{"kind", fabric.kind},
            {"topology", to_string(fabric.topology)},
            {"bandwidth", exact_text(fabric.bandwidth)},
            {"latency", duration_text(fabric.latency)}};
  if (fabric.efficiency != 1) json["efficiency"] = fabric.efficiency;
  if (fabric.device_bandwidth > ByteRate{}) json["device_bandwidth"] = exact_text(fabric.device_bandwidth);
  if (fabric.local_bandwidth > ByteRate{}) json["local_bandwidth"] = exact_text(fabric.local_bandwidth);
  if (fabric.compute_share != 0) json["compute_share"] = fabric.compute_share;
  if (fabric.busy_slowdown != 1) json["busy_slowdown"] = fabric.busy_slowdown;
  for (const FabricProtocol& protocol : fabric.protocols)
    json["protocols"].push_back({{"name", protocol.name},
                                 {"overhead", duration_text(protocol.overhead)},
                                 {"step", duration_text(protocol.step)},
                                 {"share", protocol.share}});
  if (!fabric.measured.empty()) json["measured"] = measured_collectives_json(fabric.measured);
  return json;
}

Json node_json(const Cluster& cluster, const NodeSpec& node, std::size_t count) {
  Json json{{"name", node.name},
            {"count", count},
            {"device", cluster.devices[static_cast<std::size_t>(node.device)].name},
            {"devices", node.devices}};
  // A node with one device needs no fabric inside, and may have none.
  if (node.inside.bandwidth.per_second() > 0) json["inside"] = fabric_json(node.inside);
  if (node.outside) json["outside"] = fabric_json(*node.outside);
  if (node.price_per_hour) json["price"] = price_text(*node.price_per_hour);
  for (const std::int32_t kind : node.alternatives)
    json["alternatives"].push_back(cluster.kinds[static_cast<std::size_t>(kind)].name);
  if (node.alone_speedup != 1) json["alone_speedup"] = node.alone_speedup;
  return json;
}

Json astra_json(const AstraCollectives& how) {
  Json json = Json::object();
  const auto add = [&](const char* key, const std::vector<AstraAlgorithm>& algorithms) {
    for (const AstraAlgorithm& algorithm : algorithms) json[key].push_back(to_string(algorithm));
  };
  add("all_reduce", how.all_reduce);
  add("all_gather", how.all_gather);
  add("reduce_scatter", how.reduce_scatter);
  add("all_to_all", how.all_to_all);
  json["local_bandwidth_aware"] = how.local_bandwidth_aware;
  json["splits"] = how.splits;
  json["active_chunks"] = how.active_chunks;
  json["endpoint_delay"] = duration_text(how.endpoint_delay);
  return json;
}

}  // namespace

Json device_json(const DeviceSpec& device) {
  Json json;
  json["product"] = device.product;
  json["type"] = device.type == DeviceType::kGpu ? "gpu" : "cpu";
  Json& peaks = json["matrix_peak"] = Json::object();
  for (std::size_t i = 0; i < device.matrix_peak.size(); ++i)
    if (device.matrix_peak[i].per_second() > 0)
      peaks[std::string(to_string(static_cast<DType>(i)))] = exact_text(device.matrix_peak[i]);
  json["vector_peak"] = exact_text(device.vector_peak);
  json["memory_bandwidth"] = exact_text(device.memory_bandwidth);
  json["memory"] = size_text(device.memory);
  json["units"] = device.units;
  json["launch_overhead"] = duration_text(device.launch_overhead);
  if (device.price_per_hour) json["price"] = price_text(*device.price_per_hour);
  if (device.power_watts) json["power"] = power_text(*device.power_watts);
  Json& curve = json["curve"] = Json::object();
  for (const CurveConstant& constant : curve_constants())
    curve[std::string(constant.name)] = device.curve.*constant.value;
  if (!device.measured.empty()) json["measured"] = measured_ops_json(device.measured);
  if (!device.sources.empty()) json["sources"] = sources_json(device.sources);
  return json;
}

Json sources_json(const std::vector<FigureSource>& sources) {
  Json json = Json::object();
  for (const FigureSource& source : sources) json[source.figure] = source.source;
  return json;
}

std::string cluster_text(const Cluster& cluster) {
  Json json;
  json["name"] = cluster.name;
  if (!cluster.summary.empty()) json["summary"] = cluster.summary;
  Json& devices = json["devices"] = Json::object();
  for (const DeviceSpec& device : cluster.devices) devices[device.name] = device_json(device);
  // Neighbours of one kind are one entry; a kind that comes again later is written again.
  Json& nodes = json["nodes"] = Json::array();
  for (std::size_t i = 0; i < cluster.nodes.size();) {
    std::size_t end = i;
    while (end < cluster.nodes.size() && cluster.nodes[end] == cluster.nodes[i]) ++end;
    nodes.push_back(node_json(cluster, cluster.node(static_cast<std::int32_t>(i)), end - i));
    i = end;
  }
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    if (std::ranges::find(cluster.nodes, static_cast<std::int32_t>(kind)) == cluster.nodes.end())
      nodes.push_back(node_json(cluster, cluster.kinds[kind], 0));
  if (!cluster.levels.empty()) {
    Json& levels = json["levels"] = Json::array();
    for (const ClusterLevel& level : cluster.levels)
      levels.push_back(
          {{"name", level.name}, {"members", level.members}, {"fabric", fabric_json(level.fabric)}});
  }
  if (!cluster.attention.empty()) json["attention"] = cluster.attention;
  if (cluster.astra) json["astra_sim"] = astra_json(*cluster.astra);
  if (!cluster.sources.empty()) json["sources"] = sources_json(cluster.sources);
  return dump_json(json);
}

}  // namespace nadi::inline describe
