// Matches calls of different ranks: the collectives of a group, and the two ends of a message. For each call
// it separates the time spent waiting for a late rank from the time of the transfer.
//
//   const Meetings meetings(ranks);                             // RankCalls of each rank
//   meetings.of_call(rank, call).wait                           // positions in `ranks` and its calls
//
// The k-th collective of a group on one rank is the k-th on every other, in the order of their starts; the
// k-th message from one rank to another with some tag is received by the k-th receive of it there. Both take
// place when all have come, so a rank that came early waits for the one that came last. Two measures:
//
//   arrival    start of the last to come minus own start. Needs one clock for all ranks.
//   duration   own duration minus the shortest: all leave at about the same time, and who came last stayed
//              shortest. Needs no common clock.
//
// Clocks are taken as recorded and believed when in nine of ten meetings nobody left before the last had
// come; then arrival is used, else duration. No call waits longer than it lasts. Where not everybody is held
// up (the root of a broadcast, who sends a small message) a call that ended before the last had come did not
// wait.
//
// Groups whose ranks disagree about the number of their collectives are matched as far as the shortest list
// goes, and the rest counted; where they disagree about the kind, the rest of the group's is counted as
// unmatched. Groups that only one of the ranks has are passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/analysis/rank_calls.h"

namespace nadi::inline traces {

enum class WaitMeasure { kArrival, kDuration };

inline constexpr std::uint32_t kNobody = 0xFFFF'FFFF;

// How a call met others. One that is not matched waited for nobody.
struct Arrival {
  Nanoseconds wait = {};              // for the last to come, from its own start
  std::uint32_t last_rank = kNobody;  // who came last: position in the list of ranks; kNobody: not matched
  std::uint32_t last_call = kNobody;  // and its collective or message there
};

class Meetings {
 public:
  // The ranks must outlive this.
  explicit Meetings(const std::vector<RankCalls>& ranks);

  WaitMeasure measure() const { return measure_; }
  std::int64_t matched() const { return matched_; }  // collectives
  std::int64_t unmatched() const {
    return unmatched_;
  }  // calls of collectives that another rank does not have
  std::int64_t matched_messages() const { return matched_messages_; }
  std::int64_t unmatched_messages() const { return unmatched_messages_; }  // their other rank is there
  std::int64_t impossible() const { return impossible_; }  // meetings that somebody left before the last came

  const Arrival& of_call(std::size_t rank, std::size_t call) const { return calls_[rank][call]; }
  const Arrival& of_message(std::size_t rank, std::size_t message) const { return messages_[rank][message]; }

  // Who took part in a collective: positions of the rank and of its call.
  using Members = std::span<const std::pair<std::size_t, std::size_t>>;
  // Group, number within the group from 0, members in the order of ranks.
  using UseCollective = std::function<void(const std::string&, std::int64_t, Members)>;
  void for_each_collective(const UseCollective& use) const;
  // Messages whose two ends were found: sender and its message, receiver and its message.
  using UseMessage =
      std::function<void(std::size_t sender, std::size_t send, std::size_t receiver, std::size_t receive)>;
  void for_each_message(const UseMessage& use) const;

 private:
  struct Member {
    std::size_t rank;
    std::vector<std::size_t> calls;
  };
  struct Group {
    std::string name;
    std::vector<Member> members;
    std::size_t matched = 0;
  };
  struct MessagePair {
    std::size_t sender, send, receiver, receive;
  };

  void match_collectives();
  void match_messages();
  void check_clocks();
  void settle_collectives();
  void settle_messages();
  const CollectiveCall& call(const std::pair<std::size_t, std::size_t>& at) const;

  const std::vector<RankCalls>& ranks_;
  std::vector<Group> groups_;  // by name
  std::vector<MessagePair> pairs_;
  std::vector<std::vector<Arrival>> calls_, messages_;  // by rank and call
  WaitMeasure measure_ = WaitMeasure::kArrival;
  std::int64_t matched_ = 0, unmatched_ = 0, matched_messages_ = 0, unmatched_messages_ = 0, impossible_ = 0;
};

// Parts of the time in which a rank communicated and computed nothing: what was transfer and what waiting. A moment
// counts once: as transfer when any call had met the others, else as waiting for a late rank in a collective,
// else as waiting for a message's other end. The three add up to the length of RankCalls::exposed.
struct ExposedWaits {
  Nanoseconds transfer = {}, late_rank = {}, late_message = {};
};
ExposedWaits exposed_waits(const RankCalls& calls, const Meetings& meetings, std::size_t rank);

}  // namespace nadi::inline traces
