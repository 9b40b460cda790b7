#include "nadi/convert/host_threads.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "nadi/base/format.h"

namespace nadi::inline traces {

namespace {

constexpr Nanoseconds kForever{std::numeric_limits<std::int64_t>::max()};

class ThreadLinker {
 public:
  ThreadLinker(const LinkSource& source, LinkGraph& graph, IdTable& launches, ConversionReport& report)
      : source_(source),
        events_(source.kineto.events),
        graph_(graph),
        launches_(launches),
        report_(report),
        sequence_number_(events_.text_number("Sequence number")) {}

  HostThreads link() {
    for (std::uint32_t lane = 0; lane < source_.kineto.lanes.size(); ++lane)
      if (!source_.kineto.lanes[lane].device && !source_.lanes.rows(lane).empty()) link_lane(lane);
    if (graph_.has_layers) layers_of_backward();
    return std::move(result_);
  }

 private:
  // An event that has begun. The first frame is the thread itself.
  struct Frame {
    std::uint32_t node = kNoNode;
    Nanoseconds end = kForever;
    EventRole role = EventRole::kPlain;
    TrainingPhase phase = TrainingPhase::kUnknown;
    bool nested = false;                 // something has been nested in it
    Nanoseconds accounted = {};          // its own time is accounted for until here
    Nanoseconds moved = {};              // own time behind nested events that counts in its duration
    Nanoseconds waiting = {};            // own time behind nested events that does not count anywhere yet
    bool on_host = false;                // of communication: the host carries it out
    bool elsewhere = false;              // of communication: a device does, or the host in the background
    std::uint32_t annotation = kNoNode;  // of communication: the row of its backend's annotation
  };
  struct Module {
    Nanoseconds end;
    std::uint32_t layer = 0;
  };

  void link_lane(std::uint32_t lane) {
    const std::span<const std::uint32_t> rows = source_.lanes.rows(lane);
    lane_ = lane;
    last_ = kNoNode;
    has_ops_ = false;
    modules_.clear();
    const std::uint32_t begin = graph_.size();
    const Nanoseconds first = events_.start(rows[0]);
    frames_.assign(1, Frame{.nested = true, .accounted = first, .moved = source_.moved_time});
    if (!source_.host_is_device && first - source_.first > source_.moved_time)
      add_gap(source_.first, first, first - source_.first, /*first=*/true);
    for (const std::uint32_t row : rows) begin_event(row);
    while (frames_.size() > 1) end_event();
    if (graph_.size() > begin)
      graph_.lanes.push_back({.lane = lane, .begin = begin, .end = graph_.size(), .has_ops = has_ops_});
  }

  void begin_event(std::uint32_t row) {
    const Nanoseconds start = events_.start(row);
    while (frames_.back().end <= start) end_event();
    while (!modules_.empty() && modules_.back().end <= start) modules_.pop_back();
    Nanoseconds end = start + events_.duration(row);
    const EventRole role = source_.roles.of(row);
    if (source_.kineto.category[row] == KinetoCategory::kPythonFunction) {
      begin_module(row, end);
      return;
    }
    Frame& around = frames_.back();
    const bool overlaps = end > around.end && end - around.end > kClockSlack;
    const bool on_host = role == EventRole::kHostCommunication;
    // Backends of the host before PyTorch 2.1 have an annotation and no record around it.
    const bool recorded = around.role == EventRole::kCommunicationRecord;
    if (on_host && recorded) {
      around.on_host = !overlaps;
      around.annotation = row;
      if (!overlaps) {
        drop(row);
        return;
      }
      around.elsewhere = true;
    }
    if (role == EventRole::kDeviceCommunication) around.elsewhere = true;
    if (overlaps) {
      const std::uint32_t node = add_event(row, role, around, end - start);
      if (on_host)
        result_.communication.push_back(
            {.node = node, .record = recorded ? around.node : kNoNode, .annotation = row});
      ++report_.background;
      return;
    }
    end = std::min(end, around.end);
    account(around, start);
    around.nested = true;
    around.accounted = end;
    last_ = add_event(row, role, around, Nanoseconds{});
    if (on_host) result_.communication.push_back({.node = last_, .record = kNoNode, .annotation = row});
    frames_.push_back(
        {.node = last_, .end = end, .role = role, .phase = graph_.phase[last_], .accounted = start});
  }

  void end_event() {
    Frame& frame = frames_.back();
    account(frame, frame.end);
    graph_.duration[frame.node] += frame.waiting;
    switch (frame.role) {
      case EventRole::kDeviceSync:
      case EventRole::kStreamSync:
      case EventRole::kEventSync:
        // Where one such call is nested in another, the inner one waits.
        if (!frame.nested) result_.syncs.push_back({.node = frame.node, .role = frame.role});
        break;
      case EventRole::kStreamWait:
        result_.syncs.push_back({.node = frame.node, .role = frame.role});
        break;
      case EventRole::kCommunicationRecord:
        if (frame.on_host || (!frame.elsewhere && !source_.device_work))
          result_.communication.push_back(
              {.node = frame.node, .record = frame.node, .annotation = frame.annotation});
        break;
      default:
        break;
    }
    frames_.pop_back();
  }

  // Its own time, up to a nested event or its end.
  void account(Frame& frame, Nanoseconds until) {
    if (until <= frame.accounted) return;
    const Nanoseconds stretch = until - frame.accounted;
    frame.accounted = until;
    if (!frame.nested) {
      graph_.duration[frame.node] += stretch;
      return;
    }
    if (source_.host_is_device) return;
    if (frame.moved + stretch <= source_.moved_time) {
      frame.moved += stretch;
      graph_.duration[frame.node] += stretch;
      return;
    }
    frame.waiting += stretch;
    if (frame.waiting <= source_.moved_time) return;
    add_gap(until - stretch, until, frame.waiting, /*first=*/false);
    frame.waiting = {};
  }

  void add_gap(Nanoseconds start, Nanoseconds end, Nanoseconds lasts, bool first) {
    const Frame& around = frames_.back();
    last_ = graph_.add(LinkedKind::kGap, static_cast<std::uint32_t>(graph_.gaps.size()), lasts, around.node,
                       last_);
    graph_.gaps.push_back({.start = start, .end = end, .lane = lane_, .first = first});
    graph_.phase[last_] = around.phase;
    if (graph_.has_layers) graph_.layer.push_back(0);
    ++report_.gaps;
  }

  std::uint32_t add_event(std::uint32_t row, EventRole role, const Frame& around, Nanoseconds lasts) {
    const std::uint32_t node = graph_.add(LinkedKind::kHost, row, lasts, around.node, last_);
    const KinetoCategory category = source_.kineto.category[row];
    const bool is_call = category == KinetoCategory::kRuntime || category == KinetoCategory::kDriver;
    if (is_call && source_.kineto.correlation[row] != 0) launches_.set(source_.kineto.correlation[row], node);
    has_ops_ = has_ops_ || !is_call;
    graph_.phase[node] = phase_of(row, role, around.phase);
    if (graph_.has_layers) {
      graph_.layer.push_back(modules_.empty() ? 0 : modules_.back().layer);
      if (category == KinetoCategory::kCpuOp) remember_sequence(row, role, node);
    }
    ++report_.taken[static_cast<std::size_t>(category)];
    return node;
  }

  TrainingPhase phase_of(std::uint32_t row, EventRole role, TrainingPhase around) const {
    switch (role) {
      case EventRole::kForward:
        return TrainingPhase::kForward;
      case EventRole::kBackward:
        return TrainingPhase::kBackward;
      case EventRole::kOptimizer:
        return TrainingPhase::kOptimizer;
      default:
        break;
    }
    if (around != TrainingPhase::kUnknown || source_.kineto.category[row] != KinetoCategory::kCpuOp)
      return around;
    // Autograd numbers the ops that it will go back through.
    return sequence_number_ && events_.find_attribute(row, *sequence_number_) ? TrainingPhase::kForward
                                                                              : around;
  }

  void begin_module(std::uint32_t row, Nanoseconds end) {
    if (!graph_.has_layers) graph_.layer.assign(graph_.size(), 0);
    graph_.has_layers = true;
    const std::string_view name = module_of(events_.name(row));
    const std::uint32_t around = modules_.empty() ? 0 : modules_.back().layer;
    const std::uint32_t layer =
        around == 0 ? result_.layers.intern(name)
                    : result_.layers.intern(format("{}.{}", result_.layers.text(around), name));
    modules_.push_back({.end = end, .layer = layer});
  }

  void drop(std::uint32_t row) { ++report_.dropped[static_cast<std::size_t>(source_.kineto.category[row])]; }

  // An op of the backward pass has the sequence number of the op of the forward pass that it belongs to.
  void remember_sequence(std::uint32_t row, EventRole role, std::uint32_t node) {
    const bool backward = role == EventRole::kBackward;
    if (!sequence_number_ || (!backward && graph_.layer[node] == 0)) return;
    const std::optional<TraceAttribute> number = events_.find_attribute(row, *sequence_number_);
    const std::optional<std::int64_t> sequence = number ? number->integer() : std::nullopt;
    if (sequence && *sequence >= 0) (backward ? backward_ : forward_).emplace_back(*sequence, node);
  }

  void layers_of_backward() {
    graph_.layer.resize(graph_.size());
    std::ranges::stable_sort(forward_, {}, &Numbered::first);
    for (const auto& [sequence, node] : backward_) {
      const auto found = std::ranges::lower_bound(forward_, sequence, {}, &Numbered::first);
      if (found != forward_.end() && found->first == sequence)
        graph_.layer[node] = graph_.layer[found->second];
    }
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      const std::uint32_t around = graph_.parent[node];
      if (graph_.layer[node] == 0 && around != kNoNode) graph_.layer[node] = graph_.layer[around];
    }
  }

  using Numbered = std::pair<std::int64_t, std::uint32_t>;  // sequence number, node

  const LinkSource& source_;
  const Trace& events_;
  LinkGraph& graph_;
  IdTable& launches_;
  ConversionReport& report_;
  const std::optional<std::uint32_t> sequence_number_;  // the text's number in the trace
  HostThreads result_;

  std::uint32_t lane_ = 0;
  std::uint32_t last_ = kNoNode;  // of the chain
  bool has_ops_ = false;
  std::vector<Frame> frames_;
  std::vector<Module> modules_;
  std::vector<Numbered> forward_;
  std::vector<Numbered> backward_;
};

}  // namespace

HostThreads link_host_threads(const LinkSource& source, LinkGraph& graph, IdTable& launches,
                              ConversionReport& report) {
  return ThreadLinker(source, graph, launches, report).link();
}

}  // namespace nadi::inline traces
