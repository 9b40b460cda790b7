#include "nadi/convert/device_contention.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace nadi::inline traces {

namespace {

// The ops of one device.
class DeviceContention {
 public:
  DeviceContention(const LinkSource& source, LinkGraph& graph, ConversionReport& report)
      : source_(source), graph_(graph), report_(report) {}

  void link(const std::vector<const LinkedLane*>& streams) {
    std::vector<DeviceOp> by_end;
    for (const LinkedLane* stream : streams)
      for (std::uint32_t node = stream->begin; node < stream->end; ++node)
        if (graph_.kind[node] == LinkedKind::kDevice)
          by_end.push_back({.end = end_of(node), .node = node, .lane = stream->lane});
    std::ranges::sort(by_end, {}, [](const DeviceOp& op) { return std::tuple{op.end, op.node}; });
    for (const LinkedLane* stream : streams) {
      for (std::uint32_t node = stream->begin; node < stream->end; ++node) {
        // What an op without a launch waited for is in a gap.
        if (graph_.kind[node] != LinkedKind::kDevice || graph_.launch[node] == kNoNode) continue;
        const Nanoseconds start = graph_.start(node, source_.kineto);
        const Nanoseconds ready = ready_at(node);
        if (start <= ready || start - ready <= kHeldTime) continue;
        const std::uint32_t other =
            last_ended(by_end, {.end = start, .node = node, .lane = stream->lane}, ready);
        if (other == kNoNode) continue;
        found_.push_back({.node = node, .awaited = other, .inferred = true});
      }
    }
    report_.held_up += found_.size();
    graph_.waits.insert(graph_.waits.end(), found_.begin(), found_.end());
    graph_.sort_waits();
  }

 private:
  struct DeviceOp {
    Nanoseconds end;
    std::uint32_t node = 0;
    std::uint32_t lane = 0;
  };

  // When all that it is known to wait for had ended.
  Nanoseconds ready_at(std::uint32_t node) const {
    Nanoseconds ready = source_.first;
    for (const std::uint32_t other : {graph_.before[node], graph_.launch[node]})
      if (other != kNoNode) ready = std::max(ready, end_of(other));
    for (const LinkedWait& wait : std::as_const(graph_).waits_of(node))
      ready = std::max(ready, end_of(wait.awaited));
    return ready;
  }

  // The op of another stream that began before `held` and ended last by then, but after `ready`.
  std::uint32_t last_ended(const std::vector<DeviceOp>& by_end, const DeviceOp& held,
                           Nanoseconds ready) const {
    auto at = std::ranges::upper_bound(by_end, held.end + kOverlap, {}, &DeviceOp::end);
    while (at != by_end.begin()) {
      --at;
      if (at->end <= ready) break;
      if (at->lane == held.lane) continue;
      const Nanoseconds tail{graph_.duration[at->node].count() / kOverlapShare};
      if (graph_.start(at->node, source_.kineto) < held.end && at->end <= held.end + tail) return at->node;
    }
    return kNoNode;
  }

  Nanoseconds end_of(std::uint32_t node) const {
    if (graph_.kind[node] == LinkedKind::kGap) return graph_.gaps[graph_.row[node]].end;
    return graph_.event_end(node, source_.kineto);
  }

  const LinkSource& source_;
  LinkGraph& graph_;
  ConversionReport& report_;
  std::vector<LinkedWait> found_;
};

}  // namespace

void link_device_contention(const LinkSource& source, LinkGraph& graph, ConversionReport& report) {
  std::map<std::int64_t, std::vector<const LinkedLane*>> streams;  // by device
  for (const LinkedLane& lane : graph.lanes)
    if (lane.device) streams[source.kineto.lanes[lane.lane].process].push_back(&lane);
  graph.sort_waits();
  for (const auto& [device, lanes] : streams)
    if (lanes.size() > 1) DeviceContention(source, graph, report).link(lanes);
}

}  // namespace nadi::inline traces
