// Flows on the links of a cluster (flow_network.h) for a replay.
//
//   FlowReplay flows(cluster, options, [&](const ReplayArrival& one) { return what_it_asks_for(one); });
//   replay_events(job, replay_options, &flows);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "nadi/sim/flow_network.h"
#include "nadi/sim/replay_events.h"

namespace nadi::inline predict {

// A collective among the members, or a message from the first of two to the second.
struct FlowRequest {
  bool message = false;
  CollectiveType type{};
  Bytes size = {};
  std::vector<DeviceId> devices = {};
};

class FlowReplay final : public ReplayFlows {
 public:
  FlowReplay(const Cluster& cluster, const NetworkOptions& options,
             std::function<FlowRequest(const ReplayArrival&)> request);

  std::uint32_t start(Nanoseconds now, std::span<const ReplayArrival> arrivals) override;
  std::optional<Nanoseconds> next_event() const override { return network_.next_event(); }
  void advance(Nanoseconds to, std::vector<End>& done) override;

 private:
  FlowNetwork network_;
  std::function<FlowRequest(const ReplayArrival&)> request_;
  std::vector<FlowCompletion> completions_;
};

}  // namespace nadi::inline predict
