#include "nadi/sim/replay_flow.h"

#include <utility>

namespace nadi::inline predict {

FlowReplay::FlowReplay(const Cluster& cluster, const NetworkOptions& options,
                       std::function<FlowRequest(const ReplayArrival&)> request)
    : network_(cluster, options), request_(std::move(request)) {}

std::uint32_t FlowReplay::start(Nanoseconds now, std::span<const ReplayArrival> arrivals) {
  const FlowRequest request = request_(arrivals.front());
  const FlowId flow =
      request.message ? network_.start_message(now, request.size, request.devices[0], request.devices[1])
                      : network_.start_collective(
                            now, {.type = request.type, .size = request.size, .members = request.devices});
  return static_cast<std::uint32_t>(flow);
}

void FlowReplay::advance(Nanoseconds to, std::vector<End>& done) {
  completions_.clear();
  network_.advance(to, completions_);
  for (const FlowCompletion& one : completions_)
    done.push_back({.flow = static_cast<std::uint32_t>(one.id), .at = one.at});
}

}  // namespace nadi::inline predict
