#include "nadi/cuda/device_sharing.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines::cuda {

int device_of_rank(const EnvironmentLookup& environment, int visible) {
  const std::int64_t number = rank_on_host(environment).value_or(rank_started(environment).value_or(0));
  return static_cast<int>(number % visible);
}

std::string why_through_host(Communicator& world, const DeviceIdentity& own, bool shared_too) {
  std::vector<DeviceIdentity> all(static_cast<std::size_t>(world.size()));
  world.wait(
      world.all_gather(kWorld, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all))));
  std::set<std::array<std::byte, 16>> devices;
  for (const DeviceIdentity& rank : all) devices.insert(rank.uuid);
  if (devices.size() < all.size() && !shared_too)
    return format(
        "{} ranks share {} GPU{}: messages between them go through memory of the host, which is slow",
        all.size(), devices.size(), devices.size() == 1 ? "" : "s");
  const auto without = std::ranges::find(all, false, &DeviceIdentity::nccl);
  if (without != all.end())
    return format(
        "rank {} does not find NCCL (libnccl.so.2): messages go through memory of the host, which is slow",
        without - all.begin());
  return {};
}

std::vector<std::pair<std::string, std::string>> nccl_on_shared_gpu(const EnvironmentLookup& environment) {
  constexpr const char* kVariable = "NADI_TEST_NCCL";
  const std::optional<std::string> wish = environment(kVariable);
  if (!wish || wish->empty()) return {};
  if (*wish != "shared-gpu")
    throw usage_error(format("{} is '{}'; it is shared-gpu, for tests, or not set", kVariable, *wish));
  return {{"NCCL_HOSTID", format("nadi-rank-{}", rank_started(environment).value_or(0))},
          {"NCCL_SOCKET_IFNAME", "lo"},
          {"NCCL_IB_DISABLE", "1"}};
}

}  // namespace nadi::inline engines::cuda
