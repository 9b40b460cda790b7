#include "nadi/analysis/meetings.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "nadi/graph/collective_table.h"

namespace nadi::inline traces {
namespace {

// Share of meetings that clocks may contradict before they are taken for unrelated.
constexpr std::int64_t kBelievedOneIn = 10;

using CallPlace = std::pair<std::size_t, std::size_t>;  // rank, call

// In these nobody leaves before all have come. (A broadcast's root may.)
bool holds_everybody(std::string_view kind) {
  const std::optional<CollectiveType> type = collective_with_chakra_name(kind);
  return type && collective_facts(*type).needs == CollectiveNeeds::kEverybody;
}

template <typename Call>
Nanoseconds duration(const Call& call) {
  return call.end - call.start;
}

// Messages of one direction and tag: from, to, tag.
using Channel = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
struct ChannelEnds {
  std::vector<CallPlace> sends, receives;
};

}  // namespace

Meetings::Meetings(const std::vector<RankCalls>& ranks) : ranks_(ranks) {
  for (const RankCalls& rank : ranks) {
    calls_.emplace_back(rank.calls.size());
    messages_.emplace_back(rank.messages.size());
  }
  match_collectives();
  match_messages();
  check_clocks();
  if (impossible_ * kBelievedOneIn > matched_ + matched_messages_) measure_ = WaitMeasure::kDuration;
  settle_collectives();
  settle_messages();
}

const CollectiveCall& Meetings::call(const CallPlace& at) const {
  return ranks_[at.first].calls[at.second];
}

void Meetings::match_collectives() {
  std::map<std::string, std::vector<Member>> by_name;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::map<std::uint32_t, Member*> own;
    for (std::size_t i = 0; i < ranks_[rank].calls.size(); ++i) {
      const std::uint32_t group = ranks_[rank].calls[i].group;
      // A group's list grows by one member for each rank: pointers into it hold while this rank is read.
      Member*& member = own[group];
      if (member == nullptr)
        member = &by_name[ranks_[rank].groups[group]].emplace_back(Member{.rank = rank, .calls = {}});
      member->calls.push_back(i);
    }
  }
  for (auto& [name, members] : by_name) {
    if (members.size() < 2) continue;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    std::size_t all = 0;
    for (const Member& member : members) {
      least = std::min(least, member.calls.size());
      all += member.calls.size();
    }
    const auto kind = [&](const Member& member, std::size_t number) -> const std::string& {
      return ranks_[member.rank].kinds[call({member.rank, member.calls[number]}).kind];
    };
    Group group{.name = name, .members = std::move(members)};
    for (; group.matched < least; ++group.matched)
      if (!std::ranges::all_of(group.members, [&](const Member& member) {
            return kind(member, group.matched) == kind(group.members[0], group.matched);
          }))
        break;
    matched_ += static_cast<std::int64_t>(group.matched);
    unmatched_ += static_cast<std::int64_t>(all - group.matched * group.members.size());
    groups_.push_back(std::move(group));
  }
}

void Meetings::for_each_collective(const UseCollective& use) const {
  std::vector<CallPlace> members;
  for (const Group& group : groups_) {
    members.resize(group.members.size());
    for (std::size_t number = 0; number < group.matched; ++number) {
      for (std::size_t i = 0; i < members.size(); ++i)
        members[i] = {group.members[i].rank, group.members[i].calls[number]};
      use(group.name, static_cast<std::int64_t>(number), members);
    }
  }
}

void Meetings::for_each_message(const UseMessage& use) const {
  for (const MessagePair& pair : pairs_) use(pair.sender, pair.send, pair.receiver, pair.receive);
}

void Meetings::match_messages() {
  std::map<std::int64_t, std::size_t> positions;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) positions.emplace(ranks_[rank].rank, rank);
  std::map<Channel, ChannelEnds> channels;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::int64_t own = ranks_[rank].rank;
    for (std::size_t i = 0; i < ranks_[rank].messages.size(); ++i) {
      const MessageCall& message = ranks_[rank].messages[i];
      if (!positions.contains(message.peer)) continue;
      ChannelEnds& ends = channels[message.sends ? Channel{own, message.peer, message.tag}
                                                 : Channel{message.peer, own, message.tag}];
      (message.sends ? ends.sends : ends.receives).emplace_back(rank, i);
    }
  }
  for (const auto& [channel, ends] : channels) {
    const std::size_t both = std::min(ends.sends.size(), ends.receives.size());
    for (std::size_t k = 0; k < both; ++k)
      pairs_.push_back({.sender = ends.sends[k].first,
                        .send = ends.sends[k].second,
                        .receiver = ends.receives[k].first,
                        .receive = ends.receives[k].second});
    matched_messages_ += static_cast<std::int64_t>(both);
    unmatched_messages_ += static_cast<std::int64_t>(ends.sends.size() + ends.receives.size() - 2 * both);
  }
}

void Meetings::check_clocks() {
  for_each_collective([&](const std::string&, std::int64_t, Members members) {
    const CollectiveCall& first = call(members[0]);
    if (!holds_everybody(ranks_[members[0].first].kinds[first.kind])) return;
    Nanoseconds last_start = first.start, first_end = first.end;
    for (const CallPlace& member : members) {
      last_start = std::max(last_start, call(member).start);
      first_end = std::min(first_end, call(member).end);
    }
    impossible_ += last_start > first_end ? 1 : 0;
  });
  for (const MessagePair& pair : pairs_)
    impossible_ +=
        ranks_[pair.sender].messages[pair.send].start > ranks_[pair.receiver].messages[pair.receive].end ? 1
                                                                                                         : 0;
}

void Meetings::settle_collectives() {
  // Later is larger.
  const auto arrival = [&](const CallPlace& at) {
    return measure_ == WaitMeasure::kArrival ? call(at).start : Nanoseconds{} - duration(call(at));
  };
  for_each_collective([&](const std::string&, std::int64_t, Members members) {
    CallPlace last = members[0];
    for (const CallPlace& member : members)
      if (arrival(member) > arrival(last)) last = member;
    const bool holds = holds_everybody(ranks_[last.first].kinds[call(last).kind]);
    for (const CallPlace& member : members) {
      const CollectiveCall& own = call(member);
      Nanoseconds wait = arrival(last) - arrival(member);
      if (wait > duration(own)) wait = holds ? duration(own) : Nanoseconds{};
      calls_[member.first][member.second] = {.wait = wait,
                                             .last_rank = static_cast<std::uint32_t>(last.first),
                                             .last_call = static_cast<std::uint32_t>(last.second)};
    }
  });
}

void Meetings::settle_messages() {
  for (const MessagePair& pair : pairs_) {
    const MessageCall& send = ranks_[pair.sender].messages[pair.send];
    const MessageCall& receive = ranks_[pair.receiver].messages[pair.receive];
    const Nanoseconds lead =
        measure_ == WaitMeasure::kArrival ? send.start - receive.start : duration(receive) - duration(send);
    // Positive: the receiver came first.
    const bool sender_is_last = lead > Nanoseconds{};
    const auto last_rank = static_cast<std::uint32_t>(sender_is_last ? pair.sender : pair.receiver);
    const auto last_call = static_cast<std::uint32_t>(sender_is_last ? pair.send : pair.receive);
    Arrival& of_send = messages_[pair.sender][pair.send];
    Arrival& of_receive = messages_[pair.receiver][pair.receive];
    of_send = of_receive = {.last_rank = last_rank, .last_call = last_call};
    if (sender_is_last)
      of_receive.wait = std::min(lead, duration(receive));
    else if (Nanoseconds{} - lead <= duration(send))
      of_send.wait = Nanoseconds{} - lead;
  }
}

ExposedWaits exposed_waits(const RankCalls& calls, const Meetings& meetings, std::size_t rank) {
  Intervals moving = calls.without_peer, waiting;
  const auto add = [](Intervals& intervals, Nanoseconds from, Nanoseconds to) {
    if (from < to) intervals.push_back({from, to});
  };
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    const CollectiveCall& call = calls.calls[i];
    const Nanoseconds complete = call.start + meetings.of_call(rank, i).wait;
    add(waiting, call.start, complete);
    add(moving, complete, call.end);
  }
  for (std::size_t i = 0; i < calls.messages.size(); ++i) {
    const MessageCall& call = calls.messages[i];
    add(moving, call.start + meetings.of_message(rank, i).wait, call.end);
  }
  moving = merged(std::move(moving));
  const Intervals known = united(moving, merged(std::move(waiting)));
  ExposedWaits result{.transfer = overlap(calls.exposed, moving)};
  result.late_rank = overlap(calls.exposed, known) - result.transfer;
  result.late_message = length(calls.exposed) - result.late_rank - result.transfer;
  return result;
}

}  // namespace nadi::inline traces
