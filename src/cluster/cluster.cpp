#include "nadi/cluster/cluster.h"

#include <array>

#include "nadi/base/error.h"

namespace nadi {

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
  std::int32_t first = 0;
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(nodes.size()); ++number) {
    first += node(number).devices;
    if (to_number(device) < first) return number;
  }
  check(false, "a device outside of the cluster");
  return -1;
}

const DeviceSpec& Cluster::device(DeviceId id) const {
  return devices[static_cast<std::size_t>(node(node_of(id)).device)];
}

}  // namespace nadi
