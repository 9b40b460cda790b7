#include "nadi/check/run_deadlock.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline traces {
namespace {

struct RankNode {
  std::size_t rank = 0;
  std::uint32_t node = 0;

  auto operator<=>(const RankNode&) const = default;
};

class Waiting {
 public:
  Waiting(std::span<const PlayedTrace> ranks, std::span<const RankCommunication> communication)
      : ranks_(ranks), communication_(communication) {
    for (const PlayedTrace& trace : ranks) {
      waits_for_.push_back(trace.parents);
      ended_.emplace_back(trace.ids.size(), false);
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) add_communication(rank);
  }

  std::optional<RunDeadlock> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::uint32_t node = 0; node < waits_for_[rank].size(); ++node)
        if (waits_for_[rank][node] == 0) free_.push_back({rank, node});
    while (!free_.empty()) {
      const RankNode next = free_.front();
      free_.pop_front();
      reach(next);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::uint32_t node = 0; node < ended_[rank].size(); ++node)
        if (!ended_[rank][node]) return circle_from({rank, node});
    return std::nullopt;
  }

 private:
  // The n-th collective of a group: the nodes that are it, and how many of them have been reached.
  struct Collective {
    std::vector<RankNode> members;
    std::size_t reached = 0;
  };
  // Messages from one rank to another with one tag: the n-th that is sent is the n-th that is received.
  struct Channel {
    std::vector<RankNode> sends;
    std::vector<RankNode> receives;
  };
  using ChannelKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // from, to, tag

  const PlayedTrace& trace(std::size_t rank) const { return ranks_[rank]; }

  void add_communication(std::size_t rank) {
    const RankCommunication& all = communication_[rank];
    std::map<std::uint32_t, std::uint32_t> joined;  // by group
    for (const CheckedCollective& what : all.collectives) {
      const RankNode place = node_of(rank, what.node, what.name);
      Collective& collective = collectives_[{std::string(all.texts.text(what.group)), joined[what.group]++}];
      collective.members.push_back(place);
      collective_of_[place] = &collective;
    }
    for (const Message& what : all.sends) {
      const RankNode place = node_of(rank, what.node, what.name);
      Channel& channel = channels_[{all.rank, what.peer, what.tag}];
      send_of_[place] = {&channel, channel.sends.size()};
      channel.sends.push_back(place);
    }
    for (const Message& what : all.receives) {
      const RankNode place = node_of(rank, what.node, what.name);
      Channel& channel = channels_[{what.peer, all.rank, what.tag}];
      receive_of_[place] = {&channel, channel.receives.size()};
      channel.receives.push_back(place);
    }
  }

  RankNode node_of(std::size_t rank, TraceNodeId id, std::uint32_t name) {
    const std::vector<TraceNodeId>& ids = ranks_[rank].ids;
    const RankNode place{rank, static_cast<std::uint32_t>(std::ranges::lower_bound(ids, id) - ids.begin())};
    names_[place] = communication_[rank].texts.text(name);
    return place;
  }

  // All that the node depends on has ended.
  void reach(RankNode place) {
    if (const auto entry = collective_of_.find(place); entry != collective_of_.end()) {
      Collective& collective = *entry->second;
      if (++collective.reached < collective.members.size()) return;
      for (const RankNode member : collective.members) end(member);
    } else if (receive_of_.contains(place)) {
      reached_receives_.insert(place);
      take_message(place);
    } else {
      end(place);
    }
  }

  void take_message(RankNode receive) {
    const auto& [channel, number] = receive_of_.at(receive);
    if (number >= channel->sends.size()) return;  // nobody sends it
    const RankNode send = channel->sends[number];
    if (ended_[send.rank][send.node]) end(receive);
  }

  void end(RankNode place) {
    if (ended_[place.rank][place.node]) return;
    ended_[place.rank][place.node] = true;
    const PlayedTrace& played = trace(place.rank);
    const std::uint64_t first = place.node == 0 ? 0 : played.children_end[place.node - 1];
    for (std::uint64_t child = first; child < played.children_end[place.node]; ++child)
      if (--waits_for_[place.rank][played.children[child]] == 0)
        free_.push_back({place.rank, played.children[child]});
    const auto sent = send_of_.find(place);
    if (sent == send_of_.end()) return;
    const auto& [channel, number] = sent->second;
    if (number < channel->receives.size() && reached_receives_.contains(channel->receives[number]))
      end(channel->receives[number]);
  }

  // The node of the same rank that keeps this one back and waits itself for another rank: through what it depends on, to a node that has
  // been reached and has not ended.
  RankNode waiting_node(RankNode place) {
    const std::vector<std::uint32_t>& blocker = blockers_of(place.rank);
    while (waits_for_[place.rank][place.node] > 0) place.node = blocker[place.node];
    return place;
  }

  // By node, something that it depends on and that has not ended.
  const std::vector<std::uint32_t>& blockers_of(std::size_t rank) {
    std::vector<std::uint32_t>& blocker = blockers_[rank];
    if (!blocker.empty()) return blocker;
    const PlayedTrace& played = trace(rank);
    blocker.assign(played.ids.size(), 0);
    for (std::uint32_t node = 0; node < played.ids.size(); ++node) {
      if (ended_[rank][node]) continue;
      for (std::uint64_t child = node == 0 ? 0 : played.children_end[node - 1];
           child < played.children_end[node]; ++child)
        blocker[played.children[child]] = node;
    }
    return blocker;
  }

  // The node of another rank that a waiting node waits for; nothing where nobody has one.
  std::optional<RankNode> awaited(RankNode place) const {
    if (const auto entry = collective_of_.find(place); entry != collective_of_.end()) {
      for (const RankNode member : entry->second->members)
        if (waits_for_[member.rank][member.node] > 0) return member;
      return std::nullopt;
    }
    const auto& [channel, number] = receive_of_.at(place);
    if (number >= channel->sends.size()) return std::nullopt;
    return channel->sends[number];
  }

  std::optional<RunDeadlock> circle_from(RankNode start) {
    std::vector<RankNode> waiting;
    std::optional<RankNode> at = start;
    while (at) {
      const RankNode place = waiting_node(*at);
      const auto seen = std::ranges::find(waiting, place);
      if (seen != waiting.end()) {
        waiting.erase(waiting.begin(), seen);
        return say(waiting);
      }
      waiting.push_back(place);
      at = awaited(place);
    }
    return std::nullopt;  // a partner is missing, which is another finding
  }

  std::string name_of(RankNode place) const { return quote_for_message(names_.at(place)); }

  RunDeadlock say(const std::vector<RankNode>& circle) const {
    constexpr std::size_t kMostNamed = 4;
    RunDeadlock deadlock{.rank = circle.front().rank,
                         .node = trace(circle.front().rank).ids[circle.front().node],
                         .node_name = std::string(names_.at(circle.front()))};
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const std::int64_t rank = trace(circle[i].rank).rank;
      const std::int64_t next = trace(circle[(i + 1) % circle.size()].rank).rank;
      if (i == kMostNamed && circle.size() > kMostNamed + 1) {
        deadlock.message += format(", and so on through {} more ranks to rank {}", circle.size() - i,
                                   trace(circle.front().rank).rank);
        break;
      }
      deadlock.message += i == 0 ? format("rank {}", rank) : std::string(", which");
      deadlock.message += format(" waits in {} for rank {}", name_of(circle[i]), next);
    }
    return deadlock;
  }

  std::span<const PlayedTrace> ranks_;
  std::span<const RankCommunication> communication_;
  std::map<RankNode, std::string_view> names_;
  std::vector<std::vector<std::uint32_t>> waits_for_;  // by rank and node: how many have not ended
  std::vector<std::vector<bool>> ended_;
  std::deque<RankNode> free_;
  std::map<std::pair<std::string, std::uint32_t>, Collective> collectives_;  // by group and number
  std::map<ChannelKey, Channel> channels_;
  std::map<RankNode, Collective*> collective_of_;
  std::map<RankNode, std::pair<Channel*, std::size_t>> send_of_;
  std::map<RankNode, std::pair<Channel*, std::size_t>> receive_of_;
  std::set<RankNode> reached_receives_;
  std::map<std::size_t, std::vector<std::uint32_t>> blockers_;
};

}  // namespace

std::optional<RunDeadlock> find_run_deadlock(std::span<const PlayedTrace> ranks,
                                             std::span<const RankCommunication> communication) {
  return Waiting(ranks, communication).run();
}

}  // namespace nadi::inline traces
