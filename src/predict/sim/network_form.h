// The closed form of a collective among certain devices: what its schedule (network_schedule.h) takes on the
// links of the network when nothing else is under way, as a function of the size.
//
//   const CollectiveForm form = closed_form(network, group, {type, algorithm, protocol});
//   form.time(size, sharing);
//
// A step takes the latency of its slowest transfer and, for the link that is busiest for its bandwidth, the
// bytes over the bandwidth. Latencies of a ring are those of the way that a piece goes, once round per pass
// without the shortest link; of a chain or a tree those of the longest way through it. Links that other
// groups use at the same time (`sharing`) give each its part; links that belong to one device are not shared.
//
// Beside the wire a pass (an all-reduce has two) goes once through the memory of the device
// (Fabric::local_bandwidth): with the links inside the node one after the other, with those between nodes at
// the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_schedule.h"
#include "nadi/sim/network_topology.h"

namespace nadi::inline predict {

struct NetworkGroup {
  std::vector<DeviceId> members;  // ascending
  GroupLayout layout;
  std::vector<const Fabric*> fabrics;  // that it uses, each once
};

// Throws Error (input) where a device is named twice. The first member given is the root.
NetworkGroup network_group(const NetworkTopology& network, std::span<const DeviceId> members);

// The names of the protocols of a group's fabrics; {""} where none has any.
std::vector<std::string> protocols_of(const NetworkGroup& group);
// What a fabric does under a protocol; nothing special where it has none of that name.
FabricProtocol protocol_of(const Fabric& fabric, const std::string& name);

// Rounded up, but for what arithmetic adds.
Nanoseconds whole_nanoseconds(double nanoseconds);

struct CollectiveForm {
  // Costs of one step, nanoseconds per byte of the request's size: links inside nodes and local memory, one after
  // the other; cards of devices; links that are shared. The slowest counts.
  struct Term {
    double inside = 0, local = 0, card = 0, shared = 0;
    double per_byte(double sharing) const { return std::max({inside + local, card, sharing * shared}); }
    double without_local() const { return std::max({inside, card, shared}); }
  };
  CollectiveAlgorithm algorithm{};
  std::string protocol;
  double fixed = 0;  // nanoseconds
  std::vector<Term> terms;

  double nanoseconds(double bytes, double sharing) const;
  Nanoseconds time(Bytes size, double sharing) const;  // rounded up
};

struct FormRequest {
  CollectiveType type{};
  CollectiveAlgorithm algorithm{};
  std::string protocol = {};
};
CollectiveForm closed_form(const NetworkTopology& network, const NetworkGroup& group,
                           const FormRequest& request);

// How often the data of a collective goes through each member's memory, as a multiple of the request's size.
double local_passes(CollectiveType type, std::int32_t members);

// A transfer as it is on the network: cut up among the cards of both nodes where the step says so.
struct DeviceTransfer {
  DeviceId from{}, to{};
  double share = 0;
};
void transfers_on_network(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
                          const ScheduledTransfer& transfer, std::vector<DeviceTransfer>& result);

// Nanoseconds from the start of a pipelined step until its data reaches the end of each transfer, under a
// protocol.
std::vector<double> pipelined_latencies(const NetworkTopology& network, const NetworkGroup& group,
                                        const ScheduleStep& step, const std::string& protocol);

// Adds what each link carries, in multiples of the request's size, to `load` (by link).
void add_load(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
              std::vector<double>& load);

// Delay of one transfer under a protocol, in nanoseconds.
double transfer_latency(const NetworkTopology& network, DeviceId from, DeviceId to,
                        const std::string& protocol);

}  // namespace nadi::inline predict
