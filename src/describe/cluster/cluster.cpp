#include "nadi/cluster/cluster.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"

namespace nadi::inline describe {

std::string_view to_string(FabricTopology topology) {
  static constexpr std::array<std::string_view, 4> kNames = {"switch", "mesh", "ring", "bus"};
  return kNames[static_cast<std::size_t>(topology)];
}

std::int32_t Cluster::device_count() const {
  std::int32_t count = 0;
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(nodes.size()); ++number)
    count += node(number).devices;
  return count;
}

std::int32_t Cluster::node_of(DeviceId device) const {
  check(to_number(device) >= 0 && !kinds.empty(), "a device outside of the cluster");
  const std::int32_t count = static_cast<std::int32_t>(nodes.size());
  const std::int32_t equal = kinds.front().devices;
  if (equal > 0 &&
      std::all_of(kinds.begin(), kinds.end(), [&](const NodeSpec& kind) { return kind.devices == equal; })) {
    const std::int32_t number = to_number(device) / equal;
    check(number < count, "a device outside of the cluster");
    return number;
  }
  std::int32_t first = 0;
  for (std::int32_t number = 0; number < count; ++number) {
    first += node(number).devices;
    if (to_number(device) < first) return number;
  }
  check(false, "a device outside of the cluster");
  return -1;
}

const DeviceSpec& Cluster::device(DeviceId id) const {
  return devices[static_cast<std::size_t>(node(node_of(id)).device)];
}

Cluster Cluster::for_ranks(std::int32_t ranks) const {
  Cluster shared = *this;
  if (nodes.size() != 1 || node(0).alternatives.empty()) return shared;
  std::vector<std::int32_t> candidates = node(0).alternatives;
  candidates.push_back(nodes[0]);
  const auto devices_of = [&](std::int32_t kind) { return kinds[static_cast<std::size_t>(kind)].devices; };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::int32_t a, std::int32_t b) { return devices_of(a) < devices_of(b); });
  const auto enough = std::find_if(candidates.begin(), candidates.end(),
                                   [&](std::int32_t kind) { return devices_of(kind) >= ranks; });
  shared.nodes[0] = enough == candidates.end() ? candidates.back() : *enough;
  return shared;
}

}  // namespace nadi::inline describe
