#include "nadi/sim/replay_meetings.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {

std::optional<ReplayArrival> ReplayChannels::meet(std::uint32_t channel, std::int32_t tag,
                                                  ReplayRoleKind kind, const ReplayArrival& arrival) {
  Queue& queue = queues_[(std::uint64_t{channel} << 32) | static_cast<std::uint32_t>(tag)];
  const bool sends = kind == ReplayRoleKind::kSend;
  if (queue.first == queue.waiting.size() || queue.senders == sends) {
    queue.senders = sends;
    queue.waiting.push_back(arrival);
    return std::nullopt;
  }
  const ReplayArrival other = queue.waiting[queue.first];
  if (++queue.first == queue.waiting.size()) {
    queue.waiting.clear();
    queue.first = 0;
  }
  return other;
}

std::int64_t request_time(const ReplayJob& job, const ReplayArrival& arrival) {
  const ReplayActor& actor = job.actors[arrival.actor];
  return actor.request_times[job.programs[actor.program].communications[arrival.communication].request]
      .count();
}

std::int64_t request_time(const ReplayJob& job, std::span<const ReplayArrival> arrivals) {
  std::int64_t time = request_time(job, arrivals.front());
  for (const ReplayArrival& one : arrivals.subspan(1))
    time = job.shortest ? std::min(time, request_time(job, one)) : std::max(time, request_time(job, one));
  return time;
}

void expect_agreement(const ReplayJob& job, std::span<const ReplayArrival> arrivals) {
  const auto type_of = [&](const ReplayArrival& one) {
    const ReplayProgram& program = job.programs[job.actors[one.actor].program];
    return program.requests[program.communications[one.communication].request].type;
  };
  const CollectiveType type = type_of(arrivals.front());
  for (const ReplayArrival& one : arrivals)
    if (type_of(one) != type)
      throw input_error(
          {}, format("rank {} is at {} when rank {} of its group is at {}: members of a group must "
                     "run the same collectives in the same order",
                     job.actors[arrivals.front().actor].rank, to_string(type), job.actors[one.actor].rank,
                     to_string(type_of(one))));
}

namespace {

// Whether the actor has come to the collective of that number at the place.
bool has_come(const ReplayJob& job, std::uint32_t actor, std::uint32_t place, std::uint32_t sequence,
              std::span<const CommunicationRecord> records) {
  const ReplayProgram& program = job.programs[job.actors[actor].program];
  for (std::uint32_t c = 0; c < program.communications.size(); ++c) {
    const ReplayCommunication& one = program.communications[c];
    if (one.sequence == sequence && program.roles[one.role] == ReplayRoleKind::kCollective &&
        job.actors[actor].bindings[one.role] == place)
      return records[c].arrival != kUnknownTime;
  }
  return false;
}

}  // namespace

std::optional<StuckActor> find_stuck(const ReplayJob& job, std::uint32_t actor, const RecordsOf& records) {
  const ReplayProgram& program = job.programs[job.actors[actor].program];
  const std::span<const CommunicationRecord> own = records(actor);
  for (std::uint32_t c = 0; c < own.size(); ++c) {
    if (own[c].arrival == kUnknownTime || own[c].end != kUnknownTime) continue;
    const ReplayCommunication& at = program.communications[c];
    const std::uint32_t place = job.actors[actor].bindings[at.role];
    StuckActor stuck{.actor = actor, .node = at.node};
    switch (program.roles[at.role]) {
      case ReplayRoleKind::kCollective:
        for (const std::uint32_t member : job.meetings[place].actors)
          if (!has_come(job, member, place, at.sequence, records(member))) stuck.for_actors.push_back(member);
        break;
      case ReplayRoleKind::kSend:
        stuck.for_actors.push_back(job.channels[place].to);
        break;
      case ReplayRoleKind::kReceive:
        stuck.for_actors.push_back(job.channels[place].from);
        break;
    }
    return stuck;
  }
  return std::nullopt;
}

}  // namespace nadi::inline predict
