#include "nadi/sim/replay_core.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/sim/replay_jitter.h"

namespace nadi {
namespace {

constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::max();

// Times are bare counts in here: sums are checked once per actor, by the end that they lead to.
struct CommunicationRecord {
  std::int64_t arrival = 0;  // when this actor came to it
  std::int64_t start = 0;
  std::int64_t end = kUnknownTime;
  std::uint32_t cause = kNoCommunication;  // whose end was the arrival
};

// The nodes of a stream that are under way: the stream is free when all of them have ended.
struct StreamState {
  std::int64_t free = 0;        // kUnknownTime: some have no known end yet
  std::int64_t known_end = 0;   // of those that have
  std::int64_t group_base = 0;  // when messages that are posted together may start
  std::uint32_t pending = 0;
  std::uint32_t exchange = 0;             // of the latest node; 0: none
  std::uint32_t last = kNoCommunication;  // the latest communication on the stream
};

struct ActorState {
  std::uint32_t next = 0;  // node
  bool waits = false;
  std::int64_t covered = 0;  // end of the last computation
  std::int64_t latest = 0;   // end of any node
  std::uint32_t latest_communication = kNoCommunication;
  std::vector<std::int64_t> ends;  // by node
  std::vector<CommunicationRecord> communications;
  std::vector<StreamState> streams;
  std::vector<std::uint64_t> come;  // by role: collectives so far
};

struct Arrival {
  std::uint32_t actor = 0;
  std::uint32_t communication = 0;
};

struct Meeting {
  std::int64_t latest = 0;
  std::vector<Arrival> arrivals;
};

class InOrderReplay {
 public:
  InOrderReplay(const ReplayJob& job, const ReplayOptions& options) : job_(job), keeps_(options.keep_times) {
    states_.resize(job.actors.size());
    outcome_.actors.resize(job.actors.size());
    meetings_.resize(job.meeting_members.size());
    first_meeting_.assign(job.meeting_members.size(), 0);
    for (std::size_t a = 0; a < states_.size(); ++a) {
      const ReplayProgram& program = program_of(a);
      ActorState& state = states_[a];
      state.ends.resize(program.nodes.size());
      state.communications.resize(program.communications.size());
      state.streams.resize(program.streams);
      state.come.assign(program.roles.size(), 0);
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
    find_stuck();
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
    const Nanoseconds* durations = job_.durations[actor.durations].data();
    ActorState& state = states_[a];
    ActorOutcome& out = outcome_.actors[a];
    state.waits = false;
    const std::size_t count = program.nodes.size();
    std::uint32_t parent = state.next == 0 ? 0 : program.nodes[state.next - 1].parents_end;
    for (; state.next < count; ++state.next) {
      const ReplayNode& node = program.nodes[state.next];
      std::int64_t start = 0;
      for (std::uint32_t p = parent; p < node.parents_end; ++p)
        start = std::max(start, state.ends[program.parents[p]]);
      if (node.communication != kNoCommunication) {
        if (!communicate(a, node, start, parent)) return;
        parent = node.parents_end;
        continue;
      }
      StreamState& stream = state.streams[node.stream];
      start = std::max(start, stream.free);
      if (start == kUnknownTime) {
        state.waits = true;
        return;
      }
      std::int64_t duration = durations[node.op].count();
      if (job_.jitter > 0) duration = jittered(job_, actor, state.next, duration);
      const std::int64_t end = start + duration;
      if (start > state.covered)
        explain_gap(program, state, out, start, cause_of(state, program, node, parent, start));
      state.covered = end;
      state.ends[state.next] = end;
      stream.free = stream.known_end = end;
      stream.exchange = 0;
      out.compute[node.phase] += Nanoseconds{duration};
      if (keeps_) out.nodes[state.next] = {Nanoseconds{start}, Nanoseconds{end}};
      parent = node.parents_end;
    }
    state.latest = std::max(state.latest, state.covered);
  }

  // False where the actor has to wait before it can come to it.
  bool communicate(std::uint32_t a, const ReplayNode& node, std::int64_t start, std::uint32_t parent) {
    const ReplayActor& actor = job_.actors[a];
    const ReplayProgram& program = job_.programs[actor.program];
    const ReplayCommunication& communication = program.communications[node.communication];
    ActorState& state = states_[a];
    std::int64_t before = start;
    if (node.stream != kNoStream) {
      const StreamState& stream = state.streams[node.stream];
      const bool together = communication.exchange != 0 && stream.exchange == communication.exchange;
      before = std::max(before, together ? stream.group_base : stream.free);
    }
    if (before == kUnknownTime) {
      state.waits = true;
      return false;
    }
    CommunicationRecord& record = state.communications[node.communication];
    record.arrival = before;
    record.cause = cause_of(state, program, node, parent, before);
    state.ends[state.next] = kUnknownTime;
    if (node.stream != kNoStream) {
      StreamState& stream = state.streams[node.stream];
      const bool together = communication.exchange != 0 && stream.exchange == communication.exchange;
      if (!together) {
        stream.group_base = before;
        stream.exchange = communication.exchange;
      }
      ++stream.pending;
      stream.free = kUnknownTime;
      stream.last = node.communication;
    }
    const std::uint32_t meeting = actor.bindings[communication.role].meeting;
    const Arrival arrival{a, node.communication};
    if (program.roles[communication.role] == ReplayRoleKind::kCollective)
      come_to_collective(meeting, state.come[communication.role]++, arrival, before);
    else
      come_to_channel(meeting, communication.tag, program.roles[communication.role], arrival, before);
    return true;
  }

  // Meetings of a place are numbered by the collectives before; those that have ended are dropped.
  void come_to_collective(std::uint32_t place, std::uint64_t number, const Arrival& arrival,
                          std::int64_t time) {
    std::vector<Meeting>& waiting = meetings_[place];
    std::uint64_t& first = first_meeting_[place];
    const std::size_t at = static_cast<std::size_t>(number - first);
    if (at >= waiting.size()) waiting.resize(at + 1);
    Meeting& meeting = waiting[at];
    meeting.arrivals.push_back(arrival);
    meeting.latest = std::max(meeting.latest, time);
    if (meeting.arrivals.size() < job_.meeting_members[place]) return;
    const Meeting complete = std::move(meeting);
    // Collectives of a group complete in order, each actor being in order.
    check(at == 0, "collectives of a group complete in order");
    waiting.erase(waiting.begin());
    ++first;
    expect_agreement(complete);
    std::int64_t lasts = 0;
    for (const Arrival& one : complete.arrivals) lasts = std::max(lasts, time_of(one));
    for (const Arrival& one : complete.arrivals) settle(one, complete.latest, complete.latest + lasts);
  }

  void come_to_channel(std::uint32_t channel, std::int32_t tag, ReplayRoleKind kind, const Arrival& arrival,
                       std::int64_t time) {
    const std::uint64_t key = (std::uint64_t{channel} << 32) | static_cast<std::uint32_t>(tag);
    Channel& at = channels_[key];
    const bool sends = kind == ReplayRoleKind::kSend;
    if (at.waiting.size() == at.first || at.senders_wait == sends) {
      at.senders_wait = sends;
      at.waiting.push_back({arrival, time});
      return;
    }
    const auto [other, other_time] = at.waiting[at.first];
    if (++at.first == at.waiting.size()) {
      at.waiting.clear();
      at.first = 0;
    }
    const std::int64_t start = std::max(time, other_time);
    const std::int64_t end = start + time_of(sends ? arrival : other);
    settle(arrival, start, end);
    settle(other, start, end);
  }

  std::int64_t time_of(const Arrival& arrival) const {
    const ReplayActor& actor = job_.actors[arrival.actor];
    return actor.request_times[job_.programs[actor.program].communications[arrival.communication].request]
        .count();
  }

  void expect_agreement(const Meeting& meeting) const {
    const auto request_of = [&](const Arrival& one) -> const ReplayRequest& {
      const ReplayProgram& program = program_of(one.actor);
      return program.requests[program.communications[one.communication].request];
    };
    const CollectiveType type = request_of(meeting.arrivals.front()).type;
    for (const Arrival& one : meeting.arrivals)
      if (request_of(one).type != type)
        throw input_error({},
                          format("rank {} is at {} when rank {} of its group is at {}: members of a group "
                                 "must agree",
                                 job_.actors[meeting.arrivals.front().actor].rank, to_string(type),
                                 job_.actors[one.actor].rank, to_string(request_of(one).type)));
  }

  void settle(const Arrival& arrival, std::int64_t start, std::int64_t end) {
    ActorState& state = states_[arrival.actor];
    const ReplayProgram& program = program_of(arrival.actor);
    const ReplayCommunication& communication = program.communications[arrival.communication];
    CommunicationRecord& record = state.communications[arrival.communication];
    record.start = start;
    record.end = end;
    state.ends[communication.node] = end;
    if (end >= state.latest) {
      state.latest = end;
      state.latest_communication = arrival.communication;
    }
    const std::uint16_t number = program.nodes[communication.node].stream;
    if (number != kNoStream) {
      StreamState& stream = state.streams[number];
      stream.known_end = std::max(stream.known_end, end);
      if (--stream.pending == 0) stream.free = stream.known_end;
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
    if (node.stream != kNoStream) {
      const std::uint32_t last = state.streams[node.stream].last;
      if (last != kNoCommunication && state.communications[last].end == start) return last;
    }
    return kNoCommunication;
  }

  // Computation waited until `until`. Backwards along the communication that it waited for: time in which
  // that ran is exposed, time in which it waited for its partners is bubble.
  static void explain_gap(const ReplayProgram& program, const ActorState& state, ActorOutcome& out,
                          std::int64_t until, std::uint32_t cause) {
    const std::int64_t from = state.covered;
    while (until > from && cause != kNoCommunication) {
      const CommunicationRecord& record = state.communications[cause];
      const std::int64_t end = std::min(record.end, until);
      out.bubble += Nanoseconds{until - std::max(end, from)};
      const std::int64_t start = std::max(from, std::min(record.start, end));
      if (end > start) out.shares[program.communications[cause].share].exposed += Nanoseconds{end - start};
      const std::int64_t arrival = std::max(from, std::min(record.arrival, start));
      out.bubble += Nanoseconds{start - arrival};
      until = arrival;
      cause = record.cause;
    }
    if (until > from) out.bubble += Nanoseconds{until - from};
  }

  void find_stuck() {
    for (std::uint32_t a = 0; a < states_.size(); ++a) {
      const ActorState& state = states_[a];
      for (std::uint32_t c = 0; c < state.communications.size(); ++c) {
        const std::uint32_t node = program_of(a).communications[c].node;
        if (node >= state.next || state.ends[node] != kUnknownTime) continue;
        outcome_.stuck.push_back({.actor = a, .node = node});
        break;
      }
    }
  }

  void finish() {
    for (const ActorState& state : states_) outcome_.end = std::max(outcome_.end, Nanoseconds{state.latest});
    for (std::size_t a = 0; a < states_.size(); ++a) {
      outcome_.actors[a].end = Nanoseconds{states_[a].latest};
      const std::int64_t until = outcome_.end.count();
      if (until > states_[a].covered)
        explain_gap(program_of(a), states_[a], outcome_.actors[a], until, states_[a].latest_communication);
    }
  }

  struct Channel {
    bool senders_wait = false;
    std::size_t first = 0;
    std::vector<std::pair<Arrival, std::int64_t>> waiting;
  };

  const ReplayJob& job_;
  const bool keeps_;
  std::vector<ActorState> states_;
  std::vector<std::uint32_t> runnable_;
  std::vector<std::vector<Meeting>> meetings_;           // by place: those that some have come to
  std::vector<std::uint64_t> first_meeting_;             // by place: number of the first of them
  std::unordered_map<std::uint64_t, Channel> channels_;  // by number and tag; looked up only
  ReplayOutcome outcome_;
};

}  // namespace

ReplayOutcome replay_in_order(const ReplayJob& job, const ReplayOptions& options) {
  return InOrderReplay(job, options).run();
}

}  // namespace nadi
