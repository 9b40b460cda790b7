// Communication as flows on the real links of a cluster, which share them max-min fairly with whatever else
// is under way (`flow`). Driven by whoever has the clock:
//
//   FlowNetwork network(cluster, options);
//   const FlowId id = network.start_message(now, size, from, to);
//   const FlowId all = network.start_collective(now, {.type = ..., .size = size, .members = members});
//   std::vector<FlowCompletion> done;
//   while (const auto next = network.next_event()) network.advance(*next, done);
//
// A message waits for the latency of its way, then flows at the rate that max-min fairness gives it. A
// collective is the transfers of its algorithm (network_schedule.h): a transfer starts when both its members
// have done everything of the steps before; the collective is complete when all members have done everything.
// Chains and trees stream: their transfers flow at the same time, each after the latencies of the way to it.
// The algorithm and protocol are those that the analytical model chooses (network_model.h), and with equal
// members on idle links both take the same time. What was measured in a node (Fabric::measured) is taken as
// it is, without sharing. `sharing` of a request has no meaning here.
//
// Time is integral: a flow ends at the first whole nanosecond at which all its bytes are there. The same
// calls give the same answers. Time never goes back: starting or advancing before now() is a bug of the
// caller. Work grows with the transfers under way that share links: hundreds of ranks are comfortable,
// everybody-to-everybody among a thousand is not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/sim/network_model.h"

namespace nadi::inline predict {

enum class FlowId : std::int32_t {};  // counted from 0 in the order of starting

struct FlowCompletion {
  FlowId id{};
  Nanoseconds at;

  bool operator==(const FlowCompletion&) const = default;
};

class FlowNetwork {
 public:
  explicit FlowNetwork(const Cluster& cluster, const NetworkOptions& options = {});
  ~FlowNetwork();

  FlowId start_message(Nanoseconds now, Bytes size, DeviceId from, DeviceId to);
  FlowId start_collective(Nanoseconds now, const CollectiveRequest& request);

  // When the state changes next: something may complete then, or only a step of it.
  std::optional<Nanoseconds> next_event() const;
  // Carries out everything up to and including `to`; appends what has completed, by time, then number.
  void advance(Nanoseconds to, std::vector<FlowCompletion>& done);

  Nanoseconds now() const;
  const NetworkModel& model() const;  // the analytical model of the same network

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline predict
