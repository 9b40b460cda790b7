#include "nadi/sim/network_topology.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

// A mesh has a link for each two members: so many are four million links, 130 MB.
constexpr std::int32_t kMostMeshMembers = 2048;

// Two links of 40 bytes each, and cards.
constexpr std::int32_t kMostLinkedDevices = 2'000'000;

ByteRate reached(const Fabric& fabric) {
  return fabric.bandwidth * fabric.efficiency;
}

const Fabric& slower(const Fabric& a, const Fabric& b) {
  return reached(b) < reached(a) ? b : a;
}

}  // namespace

NetworkTopology::NetworkTopology(const Cluster& cluster, std::span<const LinkFault> faults)
    : cluster_(cluster) {
  const std::int32_t nodes = static_cast<std::int32_t>(cluster_.nodes.size());
  const std::size_t levels = cluster_.levels.size();
  if (cluster_.device_count() > kMostLinkedDevices)
    throw Error{ErrorKind::kInfeasible,
                {},
                format("the network of {} devices is too large to simulate", cluster_.device_count()),
                format("at most {}", kMostLinkedDevices)};
  groups_.resize(levels + 1);
  for (std::int32_t node = 0; node < nodes; ++node) {
    const NodeSpec& kind = cluster_.node(node);
    first_device_.push_back(static_cast<std::int32_t>(node_.size()));
    node_.insert(node_.end(), static_cast<std::size_t>(kind.devices), node);
    add_group(0, first_device_.back(), kind.devices, kind.inside);
  }
  units_ = {device_count(), nodes};
  for (std::size_t level = 1; level <= levels; ++level) {
    const ClusterLevel& described = cluster_.levels[level - 1];
    const std::int32_t units = units_.back();
    const std::int32_t members =
        level == levels || described.members <= 0 ? units : std::min(described.members, units);
    for (std::int32_t first = 0; first < units; first += members)
      add_group(static_cast<std::int32_t>(level), first, std::min(members, units - first), described.fabric);
    units_.push_back(static_cast<std::int32_t>(groups_[level].size()));
  }
  add_cards();
  for (const LinkFault& fault : faults) apply(fault);
}

// What a member brings to a fabric: a node may have cards of its own.
const Fabric& NetworkTopology::port(std::int32_t level, std::int32_t unit) const {
  if (level == 1) {
    const NodeSpec& node = cluster_.node(unit);
    if (node.outside) return *node.outside;
  }
  return level == 0 ? cluster_.node(node_[static_cast<std::size_t>(unit)]).inside
                    : cluster_.levels[static_cast<std::size_t>(level - 1)].fabric;
}

void NetworkTopology::add_group(std::int32_t level, std::int32_t first, std::int32_t members,
                                const Fabric& fabric) {
  if (fabric.topology == FabricTopology::kMesh && members > kMostMeshMembers)
    throw Error{ErrorKind::kInfeasible,
                {},
                format("a mesh of {} members has too many links", members),
                format("at most {}; describe it as a switch", kMostMeshMembers)};
  Group group{.fabric = &fabric,
              .first = first,
              .members = members,
              .first_link = static_cast<std::int32_t>(links_.size())};
  const bool shared = level > 0;
  for (std::int32_t i = 0; i < members && fabric.topology != FabricTopology::kBus; ++i) {
    const Fabric& own = port(level, first + i);
    const Nanoseconds half{own.latency.count() / 2};
    switch (fabric.topology) {
      case FabricTopology::kSwitch:
        links_.push_back({reached(own), own.latency - half, level, shared, &own});
        links_.push_back({reached(own), half, level, shared, &own});
        break;
      case FabricTopology::kRing: {
        const double part = members == 2 ? 1.0 : 0.5;
        for (const std::int32_t step : {1, members - 1}) {
          const Fabric& other = port(level, first + (i + step) % members);
          const Fabric& end = slower(own, other);
          links_.push_back({reached(end) * part, std::max(own.latency, other.latency), level, shared, &end});
        }
        break;
      }
      case FabricTopology::kMesh:
        for (std::int32_t j = 0; j < members; ++j) {
          const Fabric& other = port(level, first + j);
          const Fabric& end = slower(own, other);
          links_.push_back({reached(end) * (1.0 / std::max(members - 1, 1)),
                            std::max(own.latency, other.latency), level, shared, &end});
        }
        break;
      case FabricTopology::kBus:
        break;
    }
  }
  if (fabric.topology == FabricTopology::kBus)
    links_.push_back({reached(fabric), fabric.latency, level, true, &fabric});
  groups_[static_cast<std::size_t>(level)].push_back(group);
}

void NetworkTopology::add_cards() {
  card_.assign(node_.size(), -1);
  if (cluster_.levels.empty()) return;
  for (std::size_t device = 0; device < node_.size(); ++device) {
    const Fabric& fabric = port(1, node_[device]);
    if (fabric.device_bandwidth.per_second() <= 0) continue;
    card_[device] = static_cast<std::int32_t>(links_.size());
    links_.insert(links_.end(), 2, {fabric.device_bandwidth * fabric.efficiency, {}, 1, false, &fabric});
  }
}

std::int32_t NetworkTopology::node_of(DeviceId device) const {
  check(to_number(device) >= 0 && to_number(device) < device_count(), "a device outside of the cluster");
  return node_[static_cast<std::size_t>(device)];
}

std::int32_t NetworkTopology::group_of(std::int32_t level, std::int32_t unit) const {
  if (level == 0) return node_[static_cast<std::size_t>(unit)];
  return unit / groups_[static_cast<std::size_t>(level)].front().members;
}

void NetworkTopology::take(std::int32_t link, NetworkPath& result) const {
  result.links.push_back(LinkId{link});
  result.latency += links_[static_cast<std::size_t>(link)].latency;
}

// Adds the links from one member of a fabric to another; false where none are left.
bool NetworkTopology::cross(std::int32_t level, std::int32_t from, std::int32_t to,
                            NetworkPath& result) const {
  const Group& group =
      groups_[static_cast<std::size_t>(level)][static_cast<std::size_t>(group_of(level, from))];
  const std::int32_t a = from - group.first, b = to - group.first, n = group.members;
  const auto go = [&](std::initializer_list<std::int32_t> links) {
    if (!std::all_of(links.begin(), links.end(), [&](std::int32_t link) { return alive(link); }))
      return false;
    for (const std::int32_t link : links) take(link, result);
    return true;
  };
  switch (group.fabric->topology) {
    case FabricTopology::kSwitch:
      return go({group.first_link + 2 * a, group.first_link + 2 * b + 1});
    case FabricTopology::kBus:
      return go({group.first_link});
    case FabricTopology::kMesh: {
      const auto between = [&](std::int32_t i, std::int32_t j) { return group.first_link + i * n + j; };
      if (go({between(a, b)})) return true;
      for (std::int32_t via = 0; via < n; ++via)
        if (via != a && via != b && go({between(a, via), between(via, b)})) return true;
      return false;
    }
    case FabricTopology::kRing: {
      const std::int32_t ahead = (b - a + n) % n;
      const auto walk = [&](std::int32_t hops, std::int32_t side) {
        const auto link = [&](std::int32_t hop) {
          return group.first_link + 2 * ((a + (side == 0 ? hop : n - hop)) % n) + side;
        };
        for (std::int32_t hop = 0; hop < hops; ++hop)
          if (!alive(link(hop))) return false;
        for (std::int32_t hop = 0; hop < hops; ++hop) take(link(hop), result);
        return true;
      };
      if (ahead <= n - ahead) return walk(ahead, 0) || walk(n - ahead, 1);
      return walk(n - ahead, 1) || walk(ahead, 0);
    }
  }
  return false;
}

NetworkPath NetworkTopology::path(DeviceId from, DeviceId to) const {
  NetworkPath result;
  path(from, to, result);
  return result;
}

void NetworkTopology::path(DeviceId from, DeviceId to, NetworkPath& result) const {
  result.links.clear();
  result.latency = {};
  std::int32_t a = node_of(from), b = node_of(to);
  if (from == to) return;
  if (a == b) {
    if (!cross(0, to_number(from), to_number(to), result)) throw_unreachable(from, to, "a link has failed");
    return;
  }
  const std::int32_t levels = static_cast<std::int32_t>(cluster_.levels.size());
  if (levels == 0) throw_unreachable(from, to, "the cluster has no network between its nodes");
  const auto use = [&](std::int32_t link) {
    if (!alive(link)) throw_unreachable(from, to, format("{} has failed", link_name(LinkId{link})));
    take(link, result);
  };
  // Out of a group that is not a switch there is no link of its own: its members leave it directly.
  std::vector<std::int32_t> down;
  const auto leave = [&](std::int32_t level, std::int32_t unit, bool up) -> std::int32_t {
    const Group& group =
        groups_[static_cast<std::size_t>(level)][static_cast<std::size_t>(group_of(level, unit))];
    if (group.fabric->topology == FabricTopology::kBus) return group.first_link;
    if (group.fabric->topology != FabricTopology::kSwitch) return -1;
    return group.first_link + 2 * (unit - group.first) + (up ? 0 : 1);
  };
  if (const std::int32_t card = card_[static_cast<std::size_t>(from)]; card >= 0) use(card);
  std::int32_t level = 1;
  for (; level <= levels && group_of(level, a) != group_of(level, b); ++level) {
    if (const std::int32_t link = leave(level, a, true); link >= 0) use(link);
    if (const std::int32_t link = leave(level, b, false); link >= 0) down.push_back(link);
    a = group_of(level, a);
    b = group_of(level, b);
  }
  if (!cross(level, a, b, result))
    throw_unreachable(from, to,
                      format("no way from {} to {} is left", unit_name(level, a), unit_name(level, b)));
  for (auto link = down.rbegin(); link != down.rend(); ++link) use(*link);
  if (const std::int32_t card = card_[static_cast<std::size_t>(to)]; card >= 0) use(card + 1);
}

void NetworkTopology::throw_unreachable(DeviceId from, DeviceId to, std::string_view why) const {
  throw Error{ErrorKind::kInfeasible,
              {},
              format("device {} (node {}) cannot reach device {} (node {}): {}", to_number(from),
                     node_of(from), to_number(to), node_of(to), why)};
}

ByteRate NetworkTopology::bandwidth(const NetworkPath& path) const {
  ByteRate slowest{std::numeric_limits<double>::infinity()};
  for (const LinkId id : path.links) slowest = std::min(slowest, link(id).bandwidth);
  return slowest;
}

const Fabric& NetworkTopology::fabric_between(DeviceId a, DeviceId b) const {
  std::int32_t from = node_of(a), to = node_of(b);
  if (from == to) return cluster_.node(from).inside;
  if (cluster_.levels.empty()) throw_unreachable(a, b, "the cluster has no network between its nodes");
  std::int32_t level = 1;
  for (; group_of(level, from) != group_of(level, to); ++level) {
    from = group_of(level, from);
    to = group_of(level, to);
  }
  return slower(port(level, from), port(level, to));
}

}  // namespace nadi::inline predict
