#include <algorithm>
#include <array>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/plan/fleet.h"

namespace nadi::inline predict {
namespace {

constexpr std::array<std::string_view, 2> kFleetKeys{"cluster", "nodes"};
constexpr std::array<std::string_view, 2> kFleetCountKeys{"fewest", "most"};
// More nodes of a kind are a typing mistake.
constexpr std::int64_t kMostRented = 65'536;
// Each mix is a search of some milliseconds.
constexpr std::int64_t kMostFleetMixes = 10'000;

Cluster fleet_cluster(const JsonValue& value, const std::filesystem::path& fleet) {
  if (value.is_object()) return cluster_of(value);
  const std::string& name = value.as_string();
  const std::filesystem::path path = name;
  return load_cluster(name.ends_with(".json") && path.is_relative() ? (fleet.parent_path() / path).string()
                                                                    : name);
}

std::int32_t rented(const JsonValue& value) {
  const std::int64_t count = value.as_int64();
  if (count < 0 || count > kMostRented)
    throw error_at(value, format("a number of nodes from 0 to {}", kMostRented));
  return static_cast<std::int32_t>(count);
}

FleetChoice read_choice(std::string_view name, const JsonValue& value, const Cluster& cluster) {
  std::vector<std::string> known;
  for (const NodeSpec& kind : cluster.kinds) known.push_back(kind.name);
  const auto found = std::ranges::find(known, name);
  if (found == known.end())
    throw error_at_key(value, format("{} has no node '{}'", cluster.name, name), did_you_mean(name, known));
  if (!value.is_object())
    throw error_at(value, "the fewest and the most nodes of a kind", R"({"fewest": 0, "most": 8})");
  value.refuse_keys_except(kFleetCountKeys);
  FleetChoice choice{.kind = static_cast<std::int32_t>(found - known.begin()),
                     .most = rented(value.at("most"))};
  if (const auto fewest = value.find("fewest")) choice.fewest = rented(*fewest);
  if (choice.fewest > choice.most)
    throw error_at(value,
                   format("at least {} nodes of which there are at most {}", choice.fewest, choice.most));
  return choice;
}

// May be more than any integer has room for.
double mix_count(const std::vector<FleetChoice>& choices) {
  double product = 1;
  for (const FleetChoice& choice : choices) product *= static_cast<double>(counts_of(choice).size());
  return product;
}

}  // namespace

std::vector<std::int32_t> counts_of(const FleetChoice& choice) {
  std::vector<std::int32_t> counts;
  for (std::int32_t count = choice.fewest; count < choice.most; count += choice.step) counts.push_back(count);
  counts.push_back(choice.most);
  return counts;
}

Fleet parts_of(const Cluster& cluster, std::int64_t most_mixes) {
  Fleet fleet{.cluster = cluster, .choices = {}};
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    if (const auto count = std::ranges::count(cluster.nodes, static_cast<std::int32_t>(kind)); count > 0)
      fleet.choices.push_back(
          {.kind = static_cast<std::int32_t>(kind), .most = static_cast<std::int32_t>(count)});
  // The kind of which most numbers are looked at gives way first; two of each, none and all, always remain.
  while (mix_count(fleet.choices) > static_cast<double>(most_mixes)) {
    const auto widest = std::ranges::max_element(
        fleet.choices, {}, [](const FleetChoice& choice) { return counts_of(choice).size(); });
    if (widest->step >= widest->most) break;
    ++widest->step;
  }
  return fleet;
}

Fleet read_fleet(const std::filesystem::path& path) {
  const JsonDocument document = read_json(path);
  const JsonValue root = document.root();
  if (!root.is_object()) throw error_at(root, "a fleet is a JSON object");
  root.refuse_keys_except(kFleetKeys);
  Fleet fleet{.cluster = fleet_cluster(root.at("cluster"), path), .choices = {}};
  Cluster& cluster = fleet.cluster;
  std::vector<std::optional<FleetChoice>> by_kind(cluster.kinds.size());
  const JsonValue nodes = root.at("nodes");
  for (const auto& [name, value] : nodes.items()) {
    const FleetChoice choice = read_choice(name, value, cluster);
    by_kind[static_cast<std::size_t>(choice.kind)] = choice;
  }
  std::vector<std::int32_t> all;
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    const auto own =
        static_cast<std::int32_t>(std::ranges::count(cluster.nodes, static_cast<std::int32_t>(kind)));
    // Kinds without nodes are alternatives of others (Cluster::for_ranks()).
    if (!by_kind[kind] && own == 0) continue;
    const FleetChoice choice = by_kind[kind].value_or(
        FleetChoice{.kind = static_cast<std::int32_t>(kind), .fewest = own, .most = own});
    fleet.choices.push_back(choice);
    all.insert(all.end(), static_cast<std::size_t>(choice.most), choice.kind);
  }
  if (all.empty()) throw error_at(nodes, "a fleet without nodes");
  if (const double mixes = mix_count(fleet.choices); mixes > static_cast<double>(kMostFleetMixes))
    throw error_at(nodes, format("{:.3g} mixes of nodes; the limit is {}", mixes, kMostFleetMixes),
                   "a mix has from 'fewest' to 'most' nodes of each kind: bring them nearer to each other");
  if (all.size() > 1 && cluster.levels.empty())
    throw error_at(nodes, format("{} nodes, and {} has no fabric between nodes", all.size(), cluster.name),
                   "'levels' of a cluster has the fabrics that connect its nodes");
  cluster.nodes = std::move(all);
  if (!cluster.levels.empty()) {
    auto groups = static_cast<std::int64_t>(cluster.nodes.size());
    for (std::size_t level = 0; level + 1 < cluster.levels.size(); ++level)
      groups = (groups + cluster.levels[level].members - 1) / cluster.levels[level].members;
    cluster.levels.back().members = static_cast<std::int32_t>(groups);
  }
  return fleet;
}

}  // namespace nadi::inline predict
