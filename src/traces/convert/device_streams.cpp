#include "nadi/convert/device_streams.h"

#include <algorithm>
#include <vector>

namespace nadi::inline traces {

namespace {

constexpr std::int64_t kGapsPerMovedTime = 5;

class StreamLinker {
 public:
  StreamLinker(const LinkSource& source, const IdTable& launches, const GraphCaptures& captures,
               LinkGraph& graph, ConversionReport& report)
      : source_(source),
        events_(source.kineto.events),
        launches_(launches),
        captures_(captures),
        graph_(graph),
        report_(report),
        host_lanes_(graph.lanes.size()) {}

  void link() {
    for (std::uint32_t lane = 0; lane < source_.kineto.lanes.size(); ++lane)
      if (source_.kineto.lanes[lane].device && !source_.lanes.rows(lane).empty()) link_lane(lane);
  }

 private:
  void link_lane(std::uint32_t lane) {
    const std::uint32_t begin = graph_.size();
    lane_ = lane;
    open_.clear();
    before_ = kNoNode;
    busy_until_ = source_.first;
    unexplained_ = {};
    for (const std::uint32_t row : source_.lanes.rows(lane)) add(row);
    graph_.lanes.push_back({.lane = lane, .begin = begin, .end = graph_.size(), .device = true});
  }

  void add(std::uint32_t row) {
    const std::uint32_t launch = launch_of(row);
    if (launch == kNoNode) add_gap(events_.start(row));
    const std::uint32_t node = graph_.add(LinkedKind::kDevice, row, events_.duration(row), kNoNode, kNoNode);
    ++report_.taken[static_cast<std::size_t>(source_.kineto.category[row])];
    follow(node, events_.start(row));
    busy_until_ = std::max(busy_until_, end_of(row));
    const std::uint32_t captured = captures_.call_of(row);
    const std::uint32_t told_by = captured == kNoNode ? launch : captured;
    if (graph_.has_layers) graph_.layer.push_back(told_by == kNoNode ? 0 : graph_.layer[told_by]);
    if (launch == kNoNode) return;
    unexplained_ = {};
    graph_.phase[node] = graph_.phase[told_by];
    const bool is_call = source_.kineto.category[graph_.row[launch]] == KinetoCategory::kRuntime ||
                         source_.kineto.category[graph_.row[launch]] == KinetoCategory::kDriver;
    graph_.parent[node] = is_call ? graph_.parent[launch] : launch;
    graph_.launch[node] = launch;
    if (source_.roles.of(graph_.row[launch]) == EventRole::kCopyCall &&
        source_.kineto.category[row] == KinetoCategory::kMemcpy)
      hold_up(node, launch);
  }

  // Time in which the stream was idle before an op of which no launch is known.
  void add_gap(Nanoseconds start) {
    if (start <= busy_until_) return;
    unexplained_ += start - busy_until_;
    if (unexplained_.count() * kGapsPerMovedTime <= source_.moved_time.count()) return;
    const std::uint32_t gap = graph_.add(LinkedKind::kGap, static_cast<std::uint32_t>(graph_.gaps.size()),
                                         unexplained_, kNoNode, kNoNode);
    graph_.gaps.push_back({.start = busy_until_, .end = start, .lane = lane_});
    if (graph_.has_layers) graph_.layer.push_back(0);
    follow(gap, busy_until_);
    unexplained_ = {};
    ++report_.device_gaps;
  }

  void hold_up(std::uint32_t copy, std::uint32_t call) {
    const Nanoseconds copy_end = end_of(graph_.row[copy]);
    const Nanoseconds call_end = end_of(graph_.row[call]);
    if (copy_end > call_end) return;
    graph_.launch[copy] = graph_.before[call];
    graph_.waits.push_back({.node = call, .awaited = copy, .inferred = true});
    graph_.shorten(call, std::min(graph_.duration[call], call_end - copy_end));
  }

  // Which nodes of its stream it waits for.
  void follow(std::uint32_t node, Nanoseconds start) {
    std::size_t kept = 0;
    bool found = false;
    for (const std::uint32_t other : open_) {
      const Nanoseconds end = graph_.kind[other] == LinkedKind::kGap ? graph_.gaps[graph_.row[other]].end
                                                                     : end_of(graph_.row[other]);
      if (end > start && end - start > kClockSlack) {
        open_[kept++] = other;
      } else if (!found) {
        found = true;
        before_ = other;
      } else {
        graph_.waits.push_back({.node = node, .awaited = other});
      }
    }
    open_.resize(kept);
    graph_.before[node] = before_;
    open_.push_back(node);
  }

  std::uint32_t launch_of(std::uint32_t row) {
    const std::uint64_t correlation = source_.kineto.correlation[row];
    if (correlation != 0) {
      const std::uint32_t call = launches_.find(correlation);
      if (call != IdTable::kNone) {
        ++report_.by_correlation;
        return call;
      }
    }
    if (source_.kineto.external_id[row] != 0) {
      if (!has_externals_) collect_externals();
      const std::uint32_t op = externals_.find(source_.kineto.external_id[row]);
      if (op != IdTable::kNone) {
        ++report_.by_external_id;
        return op;
      }
    }
    ++report_.without_launch;
    return kNoNode;
  }

  void collect_externals() {
    has_externals_ = true;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    std::size_t count = 0;
    const auto for_each_op = [&](const auto& use) {
      for (std::size_t lane = 0; lane < host_lanes_; ++lane) {
        for (std::uint32_t node = graph_.lanes[lane].begin; node < graph_.lanes[lane].end; ++node) {
          if (graph_.kind[node] != LinkedKind::kHost) continue;
          const std::uint32_t row = graph_.row[node];
          const KinetoCategory category = source_.kineto.category[row];
          const bool is_op =
              category == KinetoCategory::kCpuOp || category == KinetoCategory::kUserAnnotation;
          if (is_op && source_.kineto.external_id[row] != 0) use(source_.kineto.external_id[row], node);
        }
      }
    };
    for_each_op([&](std::uint64_t id, std::uint32_t) {
      least = std::min(least, id);
      most = std::max(most, id);
      ++count;
    });
    externals_ = IdTable(least, most, count);
    for_each_op([&](std::uint64_t id, std::uint32_t node) { externals_.set(id, node); });
    externals_.finish();
  }

  Nanoseconds end_of(std::uint32_t row) const { return events_.start(row) + events_.duration(row); }

  const LinkSource& source_;
  const Trace& events_;
  const IdTable& launches_;
  const GraphCaptures& captures_;
  LinkGraph& graph_;
  ConversionReport& report_;
  const std::size_t host_lanes_;  // the first ones of graph_.lanes
  IdTable externals_;             // ops by "External id", once one is looked for
  bool has_externals_ = false;

  // Lane of the current stream.
  std::uint32_t lane_ = 0;           // of the profile
  std::vector<std::uint32_t> open_;  // nodes that no other waits for yet
  std::uint32_t before_ = kNoNode;   // the last node that others wait for
  Nanoseconds busy_until_;           // end of the ops so far
  Nanoseconds unexplained_;          // idle time before ops without a launch that is in no gap yet
};

}  // namespace

void link_device_streams(const LinkSource& source, const IdTable& launches, const GraphCaptures& captures,
                         LinkGraph& graph, ConversionReport& report) {
  StreamLinker(source, launches, captures, graph, report).link();
}

}  // namespace nadi::inline traces
