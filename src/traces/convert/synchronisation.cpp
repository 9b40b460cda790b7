#include "nadi/convert/synchronisation.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace nadi::inline traces {

namespace {

// By how much the clocks of host and device may differ where a call is known to have waited for an op.
constexpr Nanoseconds kSkew{10'000};

// What a cuda_sync event says.
struct RecordedSync {
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> stream;          // that waits, or that the host waits for; nothing means all
  std::optional<std::int64_t> awaited_stream;  // on which the event was recorded
  std::optional<std::uint64_t> event_record;   // correlation of the call that recorded the event
};

// The ops of a stream, in their order.
struct StreamOps {
  std::uint32_t lane = 0;                // of the profile
  std::vector<std::uint32_t> ops;        // nodes, without gaps
  std::vector<Nanoseconds> launched_by;  // of each: when it and all before it had been launched
};

class Synchroniser {
 public:
  Synchroniser(const LinkSource& source, const IdTable& recorded, const IdTable& launches, LinkGraph& graph,
               ConversionReport& report)
      : source_(source),
        events_(source.kineto.events),
        recorded_(recorded),
        launches_(launches),
        graph_(graph),
        report_(report) {
    for (const LinkedLane& lane : graph.lanes)
      if (lane.device) add_stream(lane);
    std::ranges::sort(launched_);
    met_.resize(streams_.size() * streams_.size(), kNoNode);
  }

  void link(std::span<const SyncCall> calls) {
    for (const SyncCall& call : calls) {
      std::optional<RecordedSync> sync = recorded_sync(graph_.row[call.node]);
      // The wait for an event is recorded, too, where the profiler does not know whose event it is.
      if (call.role == EventRole::kEventSync && sync && !sync->awaited_stream) sync.reset();
      const bool found = call.role == EventRole::kStreamWait ? make_stream_wait(call.node, sync)
                                                             : make_host_wait(call, sync);
      if (found) ++(sync ? report_.recorded_syncs : report_.inferred_syncs);
    }
  }

 private:
  void add_stream(const LinkedLane& lane) {
    StreamOps& stream = streams_.emplace_back();
    stream.lane = lane.lane;
    Nanoseconds launched_by = source_.first - Nanoseconds{1};
    for (std::uint32_t op = lane.begin; op < lane.end; ++op) {
      if (graph_.kind[op] != LinkedKind::kDevice) continue;
      const std::uint32_t call = graph_.launch[op];
      if (call != kNoNode) {
        const Nanoseconds launched = graph_.start(call, source_.kineto);
        // One that started long before its launch says nothing about those behind it.
        if (launched <= events_.start(graph_.row[op]) + kSkew) launched_by = std::max(launched_by, launched);
        launched_.emplace_back(call, op);
      }
      stream.ops.push_back(op);
      stream.launched_by.push_back(launched_by);
    }
  }

  std::optional<RecordedSync> recorded_sync(std::uint32_t call_row) const {
    const std::uint64_t correlation = source_.kineto.correlation[call_row];
    const std::uint32_t row = correlation == 0 ? IdTable::kNone : recorded_.find(correlation);
    if (row == IdTable::kNone) return std::nullopt;
    // Kineto writes -1 where something is not known or does not apply.
    const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
      const std::optional<TraceAttribute> attribute = events_.find_attribute(row, name);
      const std::optional<std::int64_t> value = attribute ? attribute->integer() : std::nullopt;
      return value && *value >= 0 ? value : std::nullopt;
    };
    RecordedSync sync{.device = number("device"),
                      .stream = number("stream"),
                      .awaited_stream = number("wait_on_stream"),
                      .event_record = {}};
    if (const auto record = number("wait_on_cuda_event_record_corr_id"))
      sync.event_record = static_cast<std::uint64_t>(*record);
    return sync;
  }

  bool make_host_wait(const SyncCall& call, const std::optional<RecordedSync>& sync) {
    const std::uint32_t row = graph_.row[call.node];
    const Nanoseconds start = events_.start(row);
    const Nanoseconds end = start + events_.duration(row);
    const bool of_event = sync && sync->awaited_stream;
    const bool is_known = sync || call.role == EventRole::kDeviceSync;  // which streams it waited for
    std::uint32_t latest = kNoNode;
    bool found = false;
    for (const StreamOps& stream : streams_) {
      if (sync && !is(stream, sync->device, of_event ? sync->awaited_stream : sync->stream)) continue;
      const Nanoseconds launched = of_event ? record_time(*sync, start) : start;
      const std::uint32_t op = last_launched(stream, launched, end + (is_known ? kSkew : kClockSlack));
      if (op == kNoNode) continue;
      if (latest == kNoNode || end_of(op) > end_of(latest)) latest = op;
      if (!is_known) continue;
      graph_.waits.push_back({.node = call.node, .awaited = op, .inferred = !sync});
      found = true;
    }
    if (latest == kNoNode) return false;
    if (!found) {
      if (end_of(latest) <= start) return false;
      graph_.waits.push_back({.node = call.node, .awaited = latest, .inferred = true});
    }
    graph_.shorten(call.node, end - std::clamp(end_of(latest), start, end));
    return true;
  }

  bool make_stream_wait(std::uint32_t call, const std::optional<RecordedSync>& sync) {
    const Nanoseconds time = events_.start(graph_.row[call]);
    const std::uint32_t op = next_launched(call, sync);
    if (op == kNoNode) return false;
    const std::size_t waiting = stream_of(op);
    const Nanoseconds launched = sync ? record_time(*sync, time) : time;
    bool found = false;
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      if (other == waiting) continue;
      if (sync && sync->awaited_stream && !is(streams_[other], sync->device, sync->awaited_stream)) continue;
      const std::uint32_t awaited =
          last_launched(streams_[other], launched, events_.start(graph_.row[op]) + kClockSlack);
      if (awaited == kNoNode) continue;
      found = true;
      // Streams that met there before need not meet again.
      std::uint32_t& met = met_[waiting * streams_.size() + other];
      if (met != kNoNode && met >= awaited) continue;
      met = awaited;
      graph_.waits.push_back({.node = op, .awaited = awaited, .inferred = !sync});
    }
    return found;
  }

  // When the event that is waited for was recorded: what was launched until then is waited for.
  Nanoseconds record_time(const RecordedSync& sync, Nanoseconds fallback) const {
    const std::uint32_t call = sync.event_record ? launches_.find(*sync.event_record) : IdTable::kNone;
    return call == IdTable::kNone ? fallback : events_.start(graph_.row[call]);
  }

  bool is(const StreamOps& stream_ops, const std::optional<std::int64_t>& device,
          const std::optional<std::int64_t>& stream) const {
    const KinetoLane& known = source_.kineto.lanes[stream_ops.lane];
    return (!device || known.process == *device) && (!stream || known.thread == *stream);
  }

  // The last op of the stream that was launched before `launched` and ended by `ended`.
  std::uint32_t last_launched(const StreamOps& stream, Nanoseconds launched, Nanoseconds ended) const {
    const auto first_later = std::ranges::lower_bound(stream.launched_by, launched);
    auto at = static_cast<std::size_t>(first_later - stream.launched_by.begin());
    while (at > 0 && end_of(stream.ops[at - 1]) > ended) --at;
    return at > 0 ? stream.ops[at - 1] : kNoNode;
  }

  // The next op that the thread of `call` launches, on the stream that waits if that is known.
  std::uint32_t next_launched(std::uint32_t call, const std::optional<RecordedSync>& sync) const {
    const auto lane = std::ranges::upper_bound(graph_.lanes, call, {}, &LinkedLane::begin) - 1;
    auto next = std::ranges::upper_bound(launched_, call, {}, [](const auto& entry) { return entry.first; });
    for (; next != launched_.end() && next->first < lane->end; ++next)
      if (!sync || is(streams_[stream_of(next->second)], sync->device, sync->stream)) return next->second;
    return kNoNode;
  }

  std::size_t stream_of(std::uint32_t op) const {
    const auto first = [](const StreamOps& stream) { return stream.ops.empty() ? 0 : stream.ops[0]; };
    return static_cast<std::size_t>(std::ranges::upper_bound(streams_, op, {}, first) - streams_.begin() - 1);
  }

  Nanoseconds end_of(std::uint32_t op) const { return graph_.event_end(op, source_.kineto); }

  const LinkSource& source_;
  const Trace& events_;
  const IdTable& recorded_;
  const IdTable& launches_;
  LinkGraph& graph_;
  ConversionReport& report_;
  std::vector<StreamOps> streams_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launched_;  // launch, op; sorted
  // By waiting stream and awaited stream: the last op that was waited for.
  std::vector<std::uint32_t> met_;
};

}  // namespace

void link_synchronisation(const LinkSource& source, std::span<const SyncCall> calls, const IdTable& recorded,
                          const IdTable& launches, LinkGraph& graph, ConversionReport& report) {
  if (calls.empty()) return;
  Synchroniser(source, recorded, launches, graph, report).link(calls);
}

}  // namespace nadi::inline traces
