#include "nadi/cluster/catalogue.h"

#include <algorithm>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"
#include "nadi/cluster/catalogue_files.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/cluster/device_reader.h"

namespace nadi::inline describe {
namespace {

constexpr std::int32_t kMostNodes = 1'000'000;

std::vector<DeviceSpec> read_catalogue_devices() {
  const JsonDocument document = parse_json(std::string(catalogue_devices_text()), "devices.json");
  return read_devices(document.root().at("devices"), [](std::string_view) { return nullptr; }, {});
}

std::vector<Cluster> read_catalogue_clusters() {
  std::vector<Cluster> clusters;
  for (const EmbeddedFile& file : catalogue_cluster_files())
    clusters.push_back(parse_cluster(std::string(file.text), std::string(file.name) + ".json"));
  return clusters;
}

std::optional<Cluster> with_nodes(const Cluster& cluster, std::string_view number) {
  std::int32_t nodes = 0;
  if (!read_number(number, nodes) || nodes < 1 || nodes > kMostNodes || cluster.nodes.size() != 1 ||
      cluster.levels.size() != 1)
    return std::nullopt;
  Cluster larger = cluster;
  larger.nodes.assign(static_cast<std::size_t>(nodes), 0);
  larger.levels[0].members = nodes;
  larger.name += "x" + std::to_string(nodes);
  return larger;
}

}  // namespace

std::span<const DeviceSpec> catalogue_devices() {
  static const std::vector<DeviceSpec> kDevices = read_catalogue_devices();
  return kDevices;
}

const DeviceSpec* find_device(std::string_view name) {
  const auto devices = catalogue_devices();
  const auto found = std::ranges::find_if(
      devices, [&](const DeviceSpec& device) { return equal_ignoring_case(device.name, name); });
  return found == devices.end() ? nullptr : &*found;
}

std::span<const Cluster> catalogue_clusters() {
  static const std::vector<Cluster> kClusters = read_catalogue_clusters();
  return kClusters;
}

std::optional<Cluster> find_cluster(std::string_view name) {
  for (const Cluster& cluster : catalogue_clusters())
    if (equal_ignoring_case(cluster.name, name)) return cluster;
  if (const std::size_t times = name.find_last_of("xX"); times != std::string_view::npos)
    for (const Cluster& cluster : catalogue_clusters())
      if (equal_ignoring_case(cluster.name, name.substr(0, times)))
        return with_nodes(cluster, name.substr(times + 1));
  if (const DeviceSpec* device = find_device(name)) return cluster_of(*device);
  return std::nullopt;
}

std::string why_no_cluster(std::string_view name) {
  const std::size_t times = name.find_last_of("xX");
  if (times == std::string_view::npos) return "";
  const std::string_view number = name.substr(times + 1);
  if (number.empty() || !std::ranges::all_of(number, is_digit)) return "";
  for (const Cluster& cluster : catalogue_clusters()) {
    if (!equal_ignoring_case(cluster.name, name.substr(0, times))) continue;
    if (cluster.nodes.size() != 1)
      return format("cluster '{}' has {} nodes of its own; only clusters of one node take x{}", cluster.name,
                    cluster.nodes.size(), number);
    return format("cluster '{}' with {} nodes: there are 1 to {}", cluster.name, number,
                  with_thousands(kMostNodes));
  }
  return "";
}

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const Cluster& cluster : catalogue_clusters()) names.push_back(cluster.name);
  for (const DeviceSpec& device : catalogue_devices()) names.push_back(device.name);
  return names;
}

Cluster cluster_of(const DeviceSpec& device) {
  Cluster cluster;
  cluster.name = device.name;
  cluster.summary = device.product;
  cluster.devices = {device};
  cluster.kinds = {{.name = device.name, .inside = {}}};
  cluster.nodes = {0};
  return cluster;
}

}  // namespace nadi::inline describe
