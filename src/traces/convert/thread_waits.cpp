#include "nadi/convert/thread_waits.h"

namespace nadi::inline traces {

namespace {

class ThreadWaits {
 public:
  ThreadWaits(const LinkSource& source, LinkGraph& graph) : source_(source), graph_(graph) {}

  // Returns how many of them wait.
  std::uint64_t link_gaps() {
    std::uint64_t count = 0;
    for (const LinkedLane& lane : graph_.lanes) {
      for (std::uint32_t node = lane.begin; node < lane.end; ++node) {
        if (graph_.kind[node] != LinkedKind::kGap) continue;
        const LinkedGap& gap = graph_.gaps[graph_.row[node]];
        if (!gap.first && gap.end - gap.start <= kWaitLength) continue;
        const std::uint32_t awaited = latest_done(lane, gap.start, gap.end);
        if (awaited == kNoNode) continue;
        graph_.launch[node] = awaited;
        graph_.shorten(node, gap.end - done(awaited));
        ++count;
      }
    }
    return count;
  }

  void link_ops() {
    for (const LinkedLane& lane : graph_.lanes) {
      Nanoseconds since = source_.first - Nanoseconds{1};
      for (std::uint32_t node = lane.begin; node < lane.end; ++node) {
        const Nanoseconds start = graph_.start(node, source_.kineto);
        for (const LinkedLane& other : graph_.lanes) {
          if (&other == &lane) continue;
          const std::uint32_t awaited = last_done(other, since, start, start + Nanoseconds{1});
          if (awaited != kNoNode)
            graph_.waits.push_back({.node = node, .awaited = awaited, .inferred = true});
        }
        since = done(node);
      }
    }
  }

 private:
  Nanoseconds done(std::uint32_t node) const {
    if (graph_.kind[node] == LinkedKind::kGap) return graph_.gaps[graph_.row[node]].end;
    return graph_.start(node, source_.kineto) + graph_.duration[node];
  }

  // The node of the other threads that was done last within that time.
  std::uint32_t latest_done(const LinkedLane& waiting, Nanoseconds after, Nanoseconds until) const {
    std::uint32_t latest = kNoNode;
    for (const LinkedLane& lane : graph_.lanes) {
      if (lane.device || !lane.has_ops || &lane == &waiting) continue;
      const std::uint32_t node = last_done(lane, after, until, until);
      if (node != kNoNode && (latest == kNoNode || done(node) > done(latest))) latest = node;
    }
    return latest;
  }

  // The last node of the lane that started before `started` and was done later than `after`, before `until`.
  std::uint32_t last_done(const LinkedLane& lane, Nanoseconds after, Nanoseconds started,
                          Nanoseconds until) const {
    std::uint32_t low = lane.begin;
    std::uint32_t high = lane.end;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (graph_.start(middle, source_.kineto) < started)
        low = middle + 1;
      else
        high = middle;
    }
    while (low > lane.begin && done(low - 1) >= until) --low;
    return low > lane.begin && done(low - 1) > after ? low - 1 : kNoNode;
  }

  const LinkSource& source_;
  LinkGraph& graph_;
};

}  // namespace

void link_thread_waits(const LinkSource& source, LinkGraph& graph, ConversionReport& report) {
  ThreadWaits waits(source, graph);
  if (source.host_is_device)
    waits.link_ops();
  else
    report.waits = waits.link_gaps();
}

}  // namespace nadi::inline traces
