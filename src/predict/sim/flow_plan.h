// A collective made ready for the flow model: the transfers of its schedule (network_schedule.h) with their
// links, delays and bytes, and which of them each member takes part in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nadi/sim/network_form.h"
#include "nadi/sim/network_topology.h"

namespace nadi::inline predict {

// One flow: a transfer, or its part over one of the cards of a node.
struct FlowPart {
  DeviceId from{}, to{};
  std::vector<std::int32_t> links;
  std::int64_t delay = 0;  // nanoseconds before its data flows
  double bytes = 0;        // per byte of the request
};

struct FlowTransfer {
  std::int32_t from = 0, to = 0;  // members
  std::vector<FlowPart> parts;
};

struct FlowStep {
  std::int32_t repeat = 1;
  std::vector<FlowTransfer> transfers;
  std::vector<std::vector<std::int32_t>> of_member;  // positions in `transfers`
};

struct FlowPlan {
  std::int32_t members = 0;
  std::int64_t before = 0;    // nanoseconds until the first step
  double after_per_byte = 0;  // nanoseconds after the last one, per byte of the request: local memory
  std::vector<FlowStep> steps;
};

// Throws Error (infeasible) for more than four million transfers of one collective.
FlowPlan flow_plan(const NetworkTopology& network, std::span<const DeviceId> members,
                   const FormRequest& request);

}  // namespace nadi::inline predict
