#include "nadi/cluster/nccl_transport.h"

namespace nadi::inline describe {
namespace {

struct NcclTransport {
  Nanoseconds latency;  // of a step with LL
  double local = 0;     // local bandwidth over that of the links
  std::vector<FabricProtocol> protocols;
};

NcclTransport transport_of(const std::string& kind) {
  const auto protocol = [](std::string name, std::int64_t overhead, std::int64_t step, double share) {
    return FabricProtocol{std::move(name), Nanoseconds{overhead}, Nanoseconds{step}, share};
  };
  if (kind == "nvlink" || kind == "nvswitch")
    return {.latency = Nanoseconds{600},
            .local = 1130.0 / 300,
            .protocols = {protocol("ll", 10'000, 0, 0.2), protocol("ll128", 33'000, 2'000, 0.87),
                          protocol("simple", 67'000, 3'000, 1)}};
  if (kind == "pcie" || kind == "memory")
    return {.latency = Nanoseconds{1000},
            .local = 0,
            .protocols = {protocol("ll", 6'600, 0, 0.25), protocol("simple", 8'400, 4'700, 1)}};
  return {.latency = Nanoseconds{2700},
          .local = 0,
          .protocols = {protocol("ll", 6'600, 0, 0.25), protocol("ll128", 14'000, 1'300, 0.92),
                        protocol("simple", 8'400, 11'300, 1)}};
}

}  // namespace

void use_nccl(Fabric& fabric) {
  NcclTransport transport = transport_of(fabric.kind);
  if (fabric.latency == Nanoseconds{}) fabric.latency = transport.latency;
  fabric.local_bandwidth = fabric.bandwidth * transport.local;
  fabric.protocols = std::move(transport.protocols);
}

}  // namespace nadi::inline describe
