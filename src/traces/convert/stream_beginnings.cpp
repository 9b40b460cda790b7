#include "nadi/convert/stream_beginnings.h"

#include <utility>

namespace nadi::inline traces {

namespace {

Nanoseconds end_of(const LinkGraph& graph, const KinetoTrace& kineto, std::uint32_t node) {
  return graph.kind[node] == LinkedKind::kGap ? graph.gaps[graph.row[node]].end
                                              : graph.event_end(node, kineto);
}

}  // namespace

void link_stream_beginnings(const LinkSource& source, LinkGraph& graph, ConversionReport& report) {
  graph.sort_waits();
  for (const LinkedLane& lane : graph.lanes) {
    const std::uint32_t first = lane.begin;
    // Before one without a launch there is such a node already.
    if (!lane.device || graph.kind[first] != LinkedKind::kDevice || graph.launch[first] == kNoNode) continue;
    std::uint32_t last = graph.launch[first];
    for (const LinkedWait& wait : std::as_const(graph).waits_of(first))
      if (end_of(graph, source.kineto, wait.awaited) > end_of(graph, source.kineto, last))
        last = wait.awaited;
    const Nanoseconds ready = end_of(graph, source.kineto, last);
    const Nanoseconds start = graph.start(first, source.kineto);
    if (start <= ready || start - ready <= source.moved_time) continue;
    const std::uint32_t gap = graph.add(LinkedKind::kGap, static_cast<std::uint32_t>(graph.gaps.size()),
                                        start - ready, kNoNode, kNoNode);
    graph.gaps.push_back({.start = ready, .end = start, .lane = lane.lane});
    if (graph.has_layers) graph.layer.push_back(0);
    graph.launch[gap] = last;
    graph.before[first] = gap;
    ++report.device_gaps;
  }
}

}  // namespace nadi::inline traces
