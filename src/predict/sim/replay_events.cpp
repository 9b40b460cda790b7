#include "nadi/sim/replay_events.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/sim/replay_jitter.h"

namespace nadi::inline predict {
namespace {

// What follows from a program and is the same for all its actors.
struct ProgramIndex {
  std::vector<std::uint32_t> children_begin, children;  // by node
  std::vector<std::uint32_t> parent_count;
  std::vector<std::vector<std::uint32_t>> of_stream;  // nodes, in order
  std::vector<std::uint32_t> place_in_stream;         // by node
};

ProgramIndex index_of(const ReplayProgram& program) {
  ProgramIndex index;
  const std::size_t count = program.nodes.size();
  index.children_begin.assign(count + 1, 0);
  index.parent_count.assign(count, 0);
  index.of_stream.resize(program.streams);
  for (const std::uint32_t parent : program.parents) ++index.children_begin[parent + 1];
  for (std::size_t i = 0; i < count; ++i) index.children_begin[i + 1] += index.children_begin[i];
  index.children.resize(program.parents.size());
  std::vector<std::uint32_t> next(index.children_begin.begin(), index.children_begin.end() - 1);
  std::uint32_t p = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ReplayNode& node = program.nodes[i];
    index.parent_count[i] = node.parents_end - p;
    for (; p < node.parents_end; ++p) index.children[next[program.parents[p]]++] = i;
    if (node.stream != kNoStream) index.of_stream[node.stream].push_back(i);
  }
  return index;
}

struct Event {
  enum class Kind : std::uint8_t { kEnd, kIssue };
  std::int64_t time = 0;
  Kind kind = Kind::kEnd;
  std::uint32_t actor = 0;
  std::uint32_t node = 0;

  bool operator>(const Event& other) const {
    return std::tie(time, kind, actor, node) > std::tie(other.time, other.kind, other.actor, other.node);
  }
};

using Ready = std::pair<std::int64_t, std::uint32_t>;  // when, node

struct EventStream {
  std::size_t next = 0;                                                  // in order: place of the next node
  std::uint32_t busy = 0;                                                // nodes under way
  std::uint32_t exchange = 0;                                            // of those under way
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;  // not in order
};

struct EventActor {
  std::vector<std::uint32_t> missing;  // by node: parents that have not ended; kIssueMissing: not launched
  std::vector<std::int64_t> starts, ends;
  std::vector<CommunicationRecord> communications;
  std::vector<EventStream> streams;
  std::vector<std::uint32_t> free_nodes;  // ready, without a stream
  std::uint32_t ended = 0;
  std::uint32_t issued = 0;  // nodes that the host has launched
  std::int64_t host = 0;
  std::vector<std::uint32_t> host_waits_for;  // communications
  bool dirty = false;
  std::int64_t covered = 0;  // end of the last computation that has started
  LatestCommunication latest;
  std::int64_t last_end = 0;  // of any node
  std::int64_t slowed = 0;    // what communication takes away from the next computation
  std::int64_t met = 0;       // end of its last collective
};

class EventReplay {
 public:
  EventReplay(const ReplayJob& job, const ReplayOptions& options, ReplayFlows* flows)
      : job_(job), keeps_(options.keep_times), flows_(flows) {
    for (const ReplayProgram& program : job.programs) indices_.push_back(index_of(program));
    states_.resize(job.actors.size());
    outcome_.actors.resize(job.actors.size());
    for (std::uint32_t a = 0; a < states_.size(); ++a) prepare(a);
  }

  ReplayOutcome run() {
    start_dirty(0);
    std::vector<ReplayFlows::End> flow_ends;
    for (;;) {
      std::optional<std::int64_t> next;
      if (!events_.empty()) next = events_.top().time;
      if (flows_ != nullptr)
        if (const auto at = flows_->next_event(); at && (!next || at->count() < *next)) next = at->count();
      if (!next) break;
      const std::int64_t now = *next;
      if (flows_ != nullptr) {
        flow_ends.clear();
        flows_->advance(Nanoseconds{now}, flow_ends);
        for (const ReplayFlows::End& end : flow_ends) end_flow(end);
      }
      while (!events_.empty() && events_.top().time == now) {
        const Event event = events_.top();
        events_.pop();
        if (event.kind == Event::Kind::kEnd)
          end_node(event.actor, event.node, now);
        else
          issue(event.actor, now);
      }
      start_dirty(now);
    }
    finish();
    return std::move(outcome_);
  }

 private:
  const ReplayProgram& program_of(std::uint32_t a) const { return job_.programs[job_.actors[a].program]; }
  const ReplayDurations& durations_of(std::uint32_t a) const {
    return job_.durations[job_.actors[a].durations];
  }
  const ProgramIndex& index_of_actor(std::uint32_t a) const { return indices_[job_.actors[a].program]; }
  bool launches(std::uint32_t a) const { return !durations_of(a).issues.empty(); }

  void prepare(std::uint32_t a) {
    const ReplayProgram& program = program_of(a);
    EventActor& state = states_[a];
    state.missing = index_of_actor(a).parent_count;
    state.starts.assign(program.nodes.size(), 0);
    state.ends.assign(program.nodes.size(), kUnknownTime);
    state.communications.resize(program.communications.size());
    state.streams.resize(program.streams);
    outcome_.actors[a].shares.resize(program.shares);
    // Being launched is one more thing to wait for.
    if (launches(a)) {
      for (std::uint32_t& missing : state.missing) ++missing;
      plan_issue(a);
    } else {
      for (std::uint32_t i = 0; i < program.nodes.size(); ++i)
        if (state.missing[i] == 0) become_ready(a, i, 0);
    }
    mark(a);
  }

  void mark(std::uint32_t a) {
    if (states_[a].dirty) return;
    states_[a].dirty = true;
    dirty_.push_back(a);
  }

  // The host launches nodes in their order; it waits for messages where the program says so, but launches
  // together those that are posted together.
  void plan_issue(std::uint32_t a) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    if (state.issued == program.nodes.size()) return;
    const ReplayNode& node = program.nodes[state.issued];
    if (!state.host_waits_for.empty()) {
      const bool together = node.communication != kNoCommunication &&
                            program.communications[node.communication].exchange ==
                                program.communications[state.host_waits_for.back()].exchange;
      if (!together) {
        for (const std::uint32_t waited : state.host_waits_for) {
          if (state.communications[waited].end == kUnknownTime) return;
          state.host = std::max(state.host, state.communications[waited].end);
        }
        state.host_waits_for.clear();
      }
    }
    const ReplayDurations& durations = durations_of(a);
    state.host += node.communication == kNoCommunication ? durations.issues[node.op].count()
                                                         : durations.communication_issue.count();
    events_.push({state.host, Event::Kind::kIssue, a, state.issued});
  }

  void issue(std::uint32_t a, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const std::uint32_t number = state.issued++;
    const std::uint32_t communication = program.nodes[number].communication;
    if (communication != kNoCommunication && program.messages_stop_host &&
        program.roles[program.communications[communication].role] != ReplayRoleKind::kCollective)
      state.host_waits_for.push_back(communication);
    if (--state.missing[number] == 0) become_ready(a, number, now);
    mark(a);
    plan_issue(a);
  }

  void become_ready(std::uint32_t a, std::uint32_t number, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const std::uint16_t stream = program.nodes[number].stream;
    if (stream == kNoStream)
      state.free_nodes.push_back(number);
    else if (!program.in_order)
      state.streams[stream].ready.emplace(program.first_of_program ? 0 : now, number);
  }

  void end_flow(const ReplayFlows::End& end) {
    const std::vector<ReplayArrival> arrivals = std::move(under_way_[end.flow]);
    for (const ReplayArrival& one : arrivals)
      end_node(one.actor, program_of(one.actor).communications[one.communication].node, end.at.count());
  }

  void end_node(std::uint32_t a, std::uint32_t number, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const ReplayNode& node = program.nodes[number];
    state.ends[number] = now;
    ++state.ended;
    if (node.stream != kNoStream) --state.streams[node.stream].busy;
    if (node.communication != kNoCommunication) end_communication(a, node.communication, now);
    state.last_end = std::max(state.last_end, now);
    const ProgramIndex& index = index_of_actor(a);
    for (std::uint32_t c = index.children_begin[number]; c < index.children_begin[number + 1]; ++c)
      if (--state.missing[index.children[c]] == 0) become_ready(a, index.children[c], now);
    mark(a);
  }

  void end_communication(std::uint32_t a, std::uint32_t communication, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    CommunicationRecord& record = state.communications[communication];
    record.end = now;
    state.latest.take(now, communication);
    outcome_.actors[a].shares[program.communications[communication].share].busy +=
        Nanoseconds{now - record.start};
    // Where nothing computed in the end, nothing was slowed down.
    const double share = job_.actors[a].compute_share;
    if (share > 0 && state.covered < now) {
      const std::int64_t idle = now - std::max(state.covered, record.start);
      state.slowed = std::max<std::int64_t>(0, state.slowed - scaled(idle, share));
    }
    if (!state.host_waits_for.empty() && state.issued < program.nodes.size() &&
        std::ranges::find(state.host_waits_for, communication) != state.host_waits_for.end() &&
        std::ranges::all_of(
            state.host_waits_for,
            [&](std::uint32_t waited) { return state.communications[waited].end != kUnknownTime; }) &&
        !is_issuing(a))
      plan_issue(a);
  }

  // Whether an issue is on its way: then it is not to be planned again.
  bool is_issuing(std::uint32_t a) const {
    const EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const std::uint32_t communication = program.nodes[state.issued].communication;
    return communication != kNoCommunication &&
           program.communications[communication].exchange ==
               program.communications[state.host_waits_for.back()].exchange;
  }

  static std::int64_t scaled(std::int64_t time, double factor) {
    return static_cast<std::int64_t>(static_cast<double>(time) * factor);
  }

  void start_dirty(std::int64_t now) {
    std::ranges::sort(dirty_);
    std::vector<std::uint32_t> actors;
    std::swap(actors, dirty_);
    for (const std::uint32_t a : actors) {
      states_[a].dirty = false;
      start_nodes(a, now);
    }
  }

  void start_nodes(std::uint32_t a, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    if (!state.free_nodes.empty()) {
      std::ranges::sort(state.free_nodes);
      std::vector<std::uint32_t> nodes;
      std::swap(nodes, state.free_nodes);
      for (const std::uint32_t node : nodes) start_node(a, node, now);
    }
    for (std::size_t s = 0; s < state.streams.size(); ++s) {
      EventStream& stream = state.streams[s];
      if (program.in_order) {
        const std::vector<std::uint32_t>& nodes = index_of_actor(a).of_stream[s];
        while (stream.next < nodes.size() && state.missing[nodes[stream.next]] == 0 &&
               may_start(program, stream, nodes[stream.next])) {
          const std::uint32_t node = nodes[stream.next++];
          take_stream(program, stream, node);
          start_node(a, node, now);
        }
      } else if (stream.busy == 0 && !stream.ready.empty()) {
        const std::uint32_t node = stream.ready.top().second;
        stream.ready.pop();
        take_stream(program, stream, node);
        start_node(a, node, now);
      }
    }
  }

  static std::uint32_t exchange_of(const ReplayProgram& program, std::uint32_t node) {
    const std::uint32_t communication = program.nodes[node].communication;
    return communication == kNoCommunication ? 0 : program.communications[communication].exchange;
  }
  static bool may_start(const ReplayProgram& program, const EventStream& stream, std::uint32_t node) {
    const std::uint32_t exchange = exchange_of(program, node);
    return stream.busy == 0 || (exchange != 0 && exchange == stream.exchange);
  }
  static void take_stream(const ReplayProgram& program, EventStream& stream, std::uint32_t node) {
    ++stream.busy;
    stream.exchange = exchange_of(program, node);
  }

  void start_node(std::uint32_t a, std::uint32_t number, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const ReplayNode& node = program.nodes[number];
    state.starts[number] = now;
    if (node.communication != kNoCommunication) return come(a, number, now);
    std::int64_t duration = durations_of(a).ops[node.op].count();
    if (job_.jitter > 0) duration = jittered(job_, job_.actors[a], number, duration);
    if (!is_host(program, number)) {
      duration += std::exchange(state.slowed, 0);
      ActorOutcome& out = outcome_.actors[a];
      if (now > state.covered) explain(a, number, now);
      // Streams that compute side by side count once.
      const std::int64_t end = now + duration;
      out.compute[node.phase] += Nanoseconds{std::max<std::int64_t>(0, end - std::max(now, state.covered))};
      state.covered = std::max(state.covered, end);
    }
    events_.push({now + duration, Event::Kind::kEnd, a, number});
  }

  bool is_host(const ReplayProgram& program, std::uint32_t node) const {
    const std::uint16_t stream = program.nodes[node].stream;
    return stream != kNoStream && !program.host_stream.empty() && program.host_stream[stream] != 0;
  }

  // When a node could have started had its host been ready: after its other parents, and what was before it
  // on a stream that is in order.
  std::int64_t ready_without_host(std::uint32_t a, std::uint32_t number) const {
    const ReplayProgram& program = program_of(a);
    const EventActor& state = states_[a];
    std::int64_t ready = 0;
    const std::uint32_t first = number == 0 ? 0 : program.nodes[number - 1].parents_end;
    for (std::uint32_t p = first; p < program.nodes[number].parents_end; ++p)
      if (!is_host(program, program.parents[p])) ready = std::max(ready, state.ends[program.parents[p]]);
    const std::uint16_t stream = program.nodes[number].stream;
    if (stream == kNoStream || !program.in_order) return ready;
    // Those that are posted together with it do not hold it up; those before them do, all together.
    const std::uint32_t own = exchange_of(program, number);
    std::uint32_t before = 0;
    bool met = false;
    for (std::uint32_t n = number; n-- > 0;) {
      if (program.nodes[n].stream != stream) continue;
      const std::uint32_t exchange = exchange_of(program, n);
      if (!met && own != 0 && exchange == own) continue;
      if (met && (exchange == 0 || exchange != before)) break;
      ready = std::max(ready, state.ends[n]);
      before = exchange;
      met = true;
    }
    return ready;
  }

  // Computation waited: for its host, or for communication.
  void explain(std::uint32_t a, std::uint32_t number, std::int64_t now) {
    const EventActor& state = states_[a];
    const std::int64_t waited = std::min(now, std::max(ready_without_host(a, number), state.covered));
    const bool has_host = launches(a) || !program_of(a).host_stream.empty();
    const std::int64_t until = has_host ? waited : now;
    outcome_.actors[a].host += Nanoseconds{now - until};
    explain_gap(program_of(a), state.communications, outcome_.actors[a], state.covered, until,
                cause_of(a, number, until));
  }

  // The communication whose end let a node start, among its parents and those before it on its stream.
  std::uint32_t cause_of(std::uint32_t a, std::uint32_t number, std::int64_t start) const {
    const ReplayProgram& program = program_of(a);
    const EventActor& state = states_[a];
    const std::uint32_t first = number == 0 ? 0 : program.nodes[number - 1].parents_end;
    for (std::uint32_t p = first; p < program.nodes[number].parents_end; ++p) {
      const std::uint32_t parent = program.parents[p];
      if (state.ends[parent] == start && program.nodes[parent].communication != kNoCommunication)
        return program.nodes[parent].communication;
    }
    const std::uint16_t stream = program.nodes[number].stream;
    if (stream == kNoStream || !program.in_order) return kNoCommunication;
    for (std::uint32_t n = number; n-- > 0;)
      if (program.nodes[n].stream == stream && program.nodes[n].communication != kNoCommunication)
        return state.ends[n] == start ? program.nodes[n].communication : kNoCommunication;
    return kNoCommunication;
  }

  void come(std::uint32_t a, std::uint32_t number, std::int64_t now) {
    EventActor& state = states_[a];
    const ReplayProgram& program = program_of(a);
    const std::uint32_t communication_number = program.nodes[number].communication;
    const ReplayCommunication& communication = program.communications[communication_number];
    CommunicationRecord& record = state.communications[communication_number];
    record.arrival = now;
    record.cause = cause_of(a, number, launches(a) ? ready_without_host(a, number) : now);
    const std::uint32_t place = job_.actors[a].bindings[communication.role];
    const ReplayRoleKind kind = program.roles[communication.role];
    const ReplayArrival arrival{.actor = a, .communication = communication_number, .time = now};
    if (kind != ReplayRoleKind::kCollective && job_.sends_at_once && flows_ == nullptr) {
      const auto other = channels_.meet(place, communication.tag, kind, arrival);
      if (kind == ReplayRoleKind::kSend) {
        const std::int64_t lasts = request_time(job_, arrival);
        begin({arrival}, now, lasts);
        if (other) receive(*other, now, now + lasts);
      } else if (other) {
        receive(arrival, now, std::max(now, other->time + request_time(job_, *other)));
      }
      return;
    }
    if (kind != ReplayRoleKind::kCollective) {
      const auto other = channels_.meet(place, communication.tag, kind, arrival);
      if (!other) return;
      const bool sends = kind == ReplayRoleKind::kSend;
      begin({sends ? arrival : *other, sends ? *other : arrival}, now,
            request_time(job_, sends ? arrival : *other));
      return;
    }
    const std::uint64_t key = (std::uint64_t{place} << 32) | communication.sequence;
    std::vector<ReplayArrival>& waiting = meetings_[key];
    waiting.push_back(arrival);
    if (waiting.size() < job_.meetings[place].actors.size()) return;
    const std::vector<ReplayArrival> all = std::move(waiting);
    meetings_.erase(key);
    expect_agreement(job_, all);
    begin(all, now, request_time(job_, all), wait_for_last(all, now));
  }

  // A message that is on its way, or has come.
  void receive(const ReplayArrival& one, std::int64_t now, std::int64_t end) {
    EventActor& state = states_[one.actor];
    const std::uint32_t node = program_of(one.actor).communications[one.communication].node;
    state.communications[one.communication].start = now;
    state.starts[node] = now;
    events_.push({end, Event::Kind::kEnd, one.actor, node});
  }

  // The simulated ranks come at their mean time; the last of them comes later.
  std::int64_t wait_for_last(const std::vector<ReplayArrival>& arrivals, std::int64_t now) const {
    std::int64_t wait = 0;
    for (const ReplayArrival& one : arrivals)
      if (const MeasuredCollectives* skew = job_.actors[one.actor].skew)
        wait = std::max(
            wait,
            skew->wait_after(Nanoseconds{std::max<std::int64_t>(0, now - states_[one.actor].met)}).count());
    return wait;
  }

  void begin(const std::vector<ReplayArrival>& arrivals, std::int64_t now, std::int64_t lasts,
             std::int64_t wait = 0) {
    double slowdown = 1;
    for (const ReplayArrival& one : arrivals)
      if (states_[one.actor].covered > now)
        slowdown = std::max(slowdown, job_.actors[one.actor].busy_slowdown);
    if (slowdown != 1) lasts = scaled(lasts, slowdown);
    for (const ReplayArrival& one : arrivals) {
      EventActor& state = states_[one.actor];
      state.communications[one.communication].start = now;
      state.starts[program_of(one.actor).communications[one.communication].node] = now;
      if (job_.actors[one.actor].compute_share > 0)
        state.slowed += scaled(lasts, job_.actors[one.actor].compute_share);
    }
    if (flows_ == nullptr) {
      for (const ReplayArrival& one : arrivals) {
        states_[one.actor].met = now + wait + lasts;
        events_.push({now + wait + lasts, Event::Kind::kEnd, one.actor,
                      program_of(one.actor).communications[one.communication].node});
      }
      return;
    }
    const std::uint32_t flow = flows_->start(Nanoseconds{now}, arrivals);
    if (flow >= under_way_.size()) under_way_.resize(flow + 1);
    under_way_[flow] = arrivals;
  }

  void finish() {
    const RecordsOf records = [&](std::uint32_t a) -> std::span<const CommunicationRecord> {
      return states_[a].communications;
    };
    for (std::uint32_t a = 0; a < states_.size(); ++a) {
      outcome_.end = std::max(outcome_.end, Nanoseconds{states_[a].last_end});
      if (states_[a].ended == program_of(a).nodes.size()) continue;
      auto stuck = find_stuck(job_, a, records);
      check(stuck.has_value(), "only communication keeps an actor from its end");
      outcome_.stuck.push_back(std::move(*stuck));
    }
    if (!outcome_.stuck.empty()) return;
    for (std::uint32_t a = 0; a < states_.size(); ++a) {
      EventActor& state = states_[a];
      ActorOutcome& out = outcome_.actors[a];
      out.end = Nanoseconds{state.last_end};
      explain_gap(program_of(a), state.communications, out, state.covered, outcome_.end.count(),
                  state.latest.number);
      if (!keeps_) continue;
      out.nodes.resize(state.ends.size());
      for (std::size_t i = 0; i < state.ends.size(); ++i)
        out.nodes[i] = {Nanoseconds{state.starts[i]}, Nanoseconds{state.ends[i]}};
    }
  }

  const ReplayJob& job_;
  const bool keeps_;
  ReplayFlows* flows_;
  std::vector<ProgramIndex> indices_;  // by program
  std::vector<EventActor> states_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> dirty_;
  std::unordered_map<std::uint64_t, std::vector<ReplayArrival>>
      meetings_;  // by place and number; looked up only
  ReplayChannels channels_;
  std::vector<std::vector<ReplayArrival>> under_way_;  // by flow
  ReplayOutcome outcome_;
};

}  // namespace

ReplayOutcome replay_events(const ReplayJob& job, const ReplayOptions& options, ReplayFlows* flows) {
  return EventReplay(job, options, flows).run();
}

}  // namespace nadi::inline predict
