#include "nadi/sim/replay_core.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/sim/replay_jitter.h"
#include "nadi/sim/replay_meetings.h"

namespace nadi::inline predict {
namespace {

// Nodes of the stream of computation: it is free when all of them have ended.
struct StreamState {
  std::int64_t free = 0;                  // kUnknownTime: some have no known end yet
  std::int64_t known_end = 0;             // of those that have
  std::int64_t group_base = 0;            // when messages that are posted together may start
  std::uint32_t pending = 0;              // communication without a known end
  std::uint32_t exchange = 0;             // of the latest node; 0 means none
  std::uint32_t last = kNoCommunication;  // the latest communication on the stream
};

struct ActorState {
  std::uint32_t next = 0;  // node
  bool waits = false;
  std::int64_t host = 0;     // when the host has launched everything before `next`
  std::int64_t covered = 0;  // end of the last computation
  LatestCommunication latest;
  StreamState stream;
  std::vector<std::int64_t> ends;  // by node
  std::vector<CommunicationRecord> communications;
  std::vector<std::uint32_t> host_waits_for;  // communications
};

class InOrderReplay {
 public:
  InOrderReplay(const ReplayJob& job, const ReplayOptions& options) : job_(job), keeps_(options.keep_times) {
    states_.resize(job.actors.size());
    outcome_.actors.resize(job.actors.size());
    meetings_.resize(job.meetings.size());
    first_meeting_.assign(job.meetings.size(), 0);
    for (std::size_t a = 0; a < states_.size(); ++a) {
      const ReplayProgram& program = program_of(a);
      ActorState& state = states_[a];
      state.ends.resize(program.nodes.size());
      state.communications.resize(program.communications.size());
      outcome_.actors[a].shares.resize(program.shares);
      if (keeps_) outcome_.actors[a].nodes.resize(program.nodes.size());
    }
  }

  ReplayOutcome run() {
    // Last first, so that the first actor is taken first.
    for (std::size_t a = states_.size(); a-- > 0;) runnable_.push_back(static_cast<std::uint32_t>(a));
    while (!runnable_.empty()) {
      const std::uint32_t actor = runnable_.back();
      runnable_.pop_back();
      advance(actor);
    }
    find_all_stuck();
    if (outcome_.stuck.empty()) finish();
    return std::move(outcome_);
  }

 private:
  const ReplayProgram& program_of(std::size_t actor) const {
    return job_.programs[job_.actors[actor].program];
  }

  void advance(std::uint32_t a) {
    const ReplayActor& actor = job_.actors[a];
    const ReplayProgram& program = job_.programs[actor.program];
    const ReplayDurations& durations = job_.durations[actor.durations];
    const Nanoseconds* ops = durations.ops.data();
    const Nanoseconds* issues = durations.issues.empty() ? nullptr : durations.issues.data();
    ActorState& state = states_[a];
    ActorOutcome& out = outcome_.actors[a];
    state.waits = false;
    const std::size_t count = program.nodes.size();
    std::uint32_t parent = state.next == 0 ? 0 : program.nodes[state.next - 1].parents_end;
    for (; state.next < count; ++state.next) {
      const ReplayNode& node = program.nodes[state.next];
      std::int64_t ready = 0;
      for (std::uint32_t p = parent; p < node.parents_end; ++p)
        ready = std::max(ready, state.ends[program.parents[p]]);
      if (issues != nullptr && !state.host_waits_for.empty() && !host_goes_on(state, program, node)) return;
      if (node.communication != kNoCommunication) {
        if (!communicate(a, node, ready, parent, durations)) return;
        parent = node.parents_end;
        continue;
      }
      StreamState& stream = state.stream;
      ready = std::max(ready, stream.free);
      if (ready == kUnknownTime) {
        state.waits = true;
        return;
      }
      std::int64_t start = ready;
      if (issues != nullptr) {
        state.host += issues[node.op].count();
        start = std::max(start, state.host);
      }
      std::int64_t duration = ops[node.op].count();
      if (job_.jitter > 0) duration = jittered(job_, actor, state.next, duration);
      const std::int64_t end = start + duration;
      if (start > state.covered) {
        const std::int64_t waited = std::max(ready, state.covered);
        out.host += Nanoseconds{start - waited};
        if (waited > state.covered)
          explain_gap(program, state.communications, out, state.covered, waited,
                      cause_of(state, program, node, parent, waited));
      }
      state.covered = end;
      state.ends[state.next] = end;
      stream.free = stream.known_end = end;
      stream.exchange = 0;
      out.compute[node.phase] += Nanoseconds{duration};
      if (keeps_) out.nodes[state.next] = {Nanoseconds{start}, Nanoseconds{end}};
      parent = node.parents_end;
    }
  }

  // A host that waits for messages launches nothing until they have arrived, but those that are posted
  // together with them.
  static bool host_goes_on(ActorState& state, const ReplayProgram& program, const ReplayNode& node) {
    if (node.communication != kNoCommunication) {
      const std::uint32_t before = program.communications[state.host_waits_for.back()].exchange;
      if (program.communications[node.communication].exchange == before) return true;
    }
    for (const std::uint32_t waited : state.host_waits_for) {
      if (state.communications[waited].end == kUnknownTime) {
        state.waits = true;
        return false;
      }
      state.host = std::max(state.host, state.communications[waited].end);
    }
    state.host_waits_for.clear();
    return true;
  }

  // False where the actor has to wait before it can come to it.
  bool communicate(std::uint32_t a, const ReplayNode& node, std::int64_t ready, std::uint32_t parent,
                   const ReplayDurations& durations) {
    const ReplayActor& actor = job_.actors[a];
    const ReplayProgram& program = job_.programs[actor.program];
    const ReplayCommunication& communication = program.communications[node.communication];
    ActorState& state = states_[a];
    StreamState& stream = state.stream;
    const bool together = communication.exchange != 0 && stream.exchange == communication.exchange;
    if (node.stream != kNoStream) ready = std::max(ready, together ? stream.group_base : stream.free);
    if (ready == kUnknownTime) {
      state.waits = true;
      return false;
    }
    CommunicationRecord& record = state.communications[node.communication];
    record.arrival = ready;
    record.cause = cause_of(state, program, node, parent, ready);
    if (!durations.issues.empty()) {
      state.host += durations.communication_issue.count();
      record.arrival = std::max(record.arrival, state.host);
    }
    state.ends[state.next] = kUnknownTime;
    if (node.stream != kNoStream) {
      if (!together) {
        stream.group_base = ready;
        stream.exchange = communication.exchange;
      }
      ++stream.pending;
      stream.free = kUnknownTime;
      stream.last = node.communication;
    }
    const ReplayRoleKind kind = program.roles[communication.role];
    if (kind != ReplayRoleKind::kCollective && program.messages_stop_host)
      state.host_waits_for.push_back(node.communication);
    const std::uint32_t place = actor.bindings[communication.role];
    const ReplayArrival arrival{.actor = a, .communication = node.communication, .time = record.arrival};
    if (kind == ReplayRoleKind::kCollective)
      come_to_collective(place, communication.sequence, arrival);
    else if (const auto other = channels_.meet(place, communication.tag, kind, arrival))
      settle_both(arrival, *other, kind);
    return true;
  }

  // Meetings of a place are numbered; those that have ended are dropped.
  void come_to_collective(std::uint32_t place, std::uint32_t number, const ReplayArrival& arrival) {
    std::vector<std::vector<ReplayArrival>>& waiting = meetings_[place];
    std::uint32_t& first = first_meeting_[place];
    const std::size_t at = number - first;
    if (at >= waiting.size()) waiting.resize(at + 1);
    waiting[at].push_back(arrival);
    if (waiting[at].size() < job_.meetings[place].actors.size()) return;
    // Each actor comes to the collectives of a group in order, so they complete in order.
    check(at == 0, "collectives of a group complete in order");
    const std::vector<ReplayArrival> all = std::move(waiting.front());
    waiting.erase(waiting.begin());
    ++first;
    expect_agreement(job_, all);
    std::int64_t start = 0;
    for (const ReplayArrival& one : all) start = std::max(start, one.time);
    const std::int64_t end = start + request_time(job_, all);
    for (const ReplayArrival& one : all) settle(one, start, end);
  }

  void settle_both(const ReplayArrival& arrival, const ReplayArrival& other, ReplayRoleKind kind) {
    const std::int64_t start = std::max(arrival.time, other.time);
    const std::int64_t end = start + request_time(job_, kind == ReplayRoleKind::kSend ? arrival : other);
    settle(arrival, start, end);
    settle(other, start, end);
  }

  void settle(const ReplayArrival& arrival, std::int64_t start, std::int64_t end) {
    ActorState& state = states_[arrival.actor];
    const ReplayProgram& program = program_of(arrival.actor);
    const ReplayCommunication& communication = program.communications[arrival.communication];
    CommunicationRecord& record = state.communications[arrival.communication];
    record.start = start;
    record.end = end;
    state.ends[communication.node] = end;
    state.latest.take(end, arrival.communication);
    if (program.nodes[communication.node].stream != kNoStream) {
      state.stream.known_end = std::max(state.stream.known_end, end);
      if (--state.stream.pending == 0) state.stream.free = state.stream.known_end;
    }
    ActorOutcome& out = outcome_.actors[arrival.actor];
    out.shares[communication.share].busy += Nanoseconds{end - start};
    if (keeps_) out.nodes[communication.node] = {Nanoseconds{start}, Nanoseconds{end}};
    if (state.waits) {
      state.waits = false;
      runnable_.push_back(arrival.actor);
    }
  }

  // The communication whose end let a node start, among its parents and those before it on its stream.
  static std::uint32_t cause_of(const ActorState& state, const ReplayProgram& program, const ReplayNode& node,
                                std::uint32_t parent, std::int64_t start) {
    for (std::uint32_t p = parent; p < node.parents_end; ++p) {
      const std::uint32_t before = program.parents[p];
      if (state.ends[before] == start && program.nodes[before].communication != kNoCommunication)
        return program.nodes[before].communication;
    }
    const std::uint32_t last = state.stream.last;
    if (node.stream != kNoStream && last != kNoCommunication && state.communications[last].end == start)
      return last;
    return kNoCommunication;
  }

  void find_all_stuck() {
    const RecordsOf records = [&](std::uint32_t a) -> std::span<const CommunicationRecord> {
      return states_[a].communications;
    };
    for (std::uint32_t a = 0; a < states_.size(); ++a)
      if (auto stuck = find_stuck(job_, a, records)) outcome_.stuck.push_back(std::move(*stuck));
  }

  void finish() {
    for (std::size_t a = 0; a < states_.size(); ++a) {
      outcome_.actors[a].end = Nanoseconds{std::max(states_[a].latest.end, states_[a].covered)};
      outcome_.end = std::max(outcome_.end, outcome_.actors[a].end);
    }
    for (std::size_t a = 0; a < states_.size(); ++a)
      explain_gap(program_of(a), states_[a].communications, outcome_.actors[a], states_[a].covered,
                  outcome_.end.count(), states_[a].latest.number);
  }

  const ReplayJob& job_;
  const bool keeps_;
  std::vector<ActorState> states_;
  std::vector<std::uint32_t> runnable_;
  std::vector<std::vector<std::vector<ReplayArrival>>> meetings_;  // by place: those that some have come to
  std::vector<std::uint32_t> first_meeting_;                       // by place: number of the first of them
  ReplayChannels channels_;
  ReplayOutcome outcome_;
};

}  // namespace

bool runs_in_order(const ReplayJob& job) {
  return std::ranges::all_of(
             job.programs,
             [](const ReplayProgram& program) { return program.in_order && program.streams <= 1; }) &&
         std::ranges::all_of(job.actors, [](const ReplayActor& actor) {
           return actor.compute_share == 0 && actor.busy_slowdown == 1 && actor.skew == nullptr;
         });
}

ReplayOutcome replay_in_order(const ReplayJob& job, const ReplayOptions& options) {
  return InOrderReplay(job, options).run();
}

}  // namespace nadi::inline predict
