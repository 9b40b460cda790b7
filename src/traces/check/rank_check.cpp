#include "nadi/check/rank_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/check/rules.h"

namespace nadi::inline traces {
namespace {

std::string describe(const CheckedCollective& call) {
  return format("{} of {} bytes", to_string(call.type), call.bytes);
}

std::string name_of_group(std::string_view group) {
  return group.empty() ? "the group of all ranks" : format("group {}", quote_for_message(group));
}

using WhatIsCalled = std::pair<CollectiveType, std::int64_t>;
WhatIsCalled what(const CheckedCollective& call) {
  return {call.type, call.bytes};
}

class RankCheck {
 public:
  RankCheck(const Run& run, Findings& findings) : run_(run), findings_(findings) {
    for (const RankCommunication& rank : run.ranks) by_rank_.emplace(rank.rank, &rank);
  }

  void run() {
    split_by_group();
    check_membership();
    for (const auto& [group, calls] : groups_) check_group(group, calls);
    check_messages();
    report_missing_ranks();
  }

 private:
  using Calls = std::vector<const CheckedCollective*>;
  using CallsByRank = std::map<std::int64_t, Calls>;

  const RankCommunication& rank(std::int64_t number) const { return *by_rank_.at(number); }
  bool alone() const { return run_.ranks.size() == 1; }

  Finding finding(const Rule& rule, std::int64_t of_rank, TraceNodeId node, std::uint32_t name,
                  std::string message) const {
    const RankCommunication& owner = rank(of_rank);
    Finding found;
    found.rule = &rule;
    found.file = owner.file;
    found.rank = of_rank;
    found.node = node;
    found.node_name = std::string(owner.texts.text(name));
    found.message = std::move(message);
    return found;
  }
  Finding finding(const Rule& rule, std::int64_t of_rank, const CheckedCollective& call,
                  std::string message) const {
    return finding(rule, of_rank, call.node, call.name, std::move(message));
  }

  std::string describe_node(std::int64_t of_rank, TraceNodeId node, std::uint32_t name) const {
    return format("rank {}, node {} {}", of_rank, to_number(node),
                  quote_for_message(rank(of_rank).texts.text(name)));
  }

  void split_by_group() {
    for (const RankCommunication& rank : run_.ranks)
      for (const CheckedCollective& call : rank.collectives)
        groups_[std::string(rank.texts.text(call.group))][rank.rank].push_back(&call);
  }

  // A rank of the run that is not here; counted, and named in the end.
  void miss(std::int64_t number) {
    if (!by_rank_.contains(number)) missing_.insert(number);
  }

  void check_membership() {
    bool named = false;
    for (const auto& [group, calls] : groups_) {
      if (group.empty()) continue;
      named = true;
      if (run_.groups == nullptr) continue;
      const auto members = run_.groups->find(group);
      for (const auto& [number, of_rank] : calls) {
        if (members == run_.groups->end()) {
          if (findings_.count(rule::kUnknownGroup))
            findings_.keep(
                finding(rule::kUnknownGroup, number, *of_rank.front(),
                        format("{} is not in {}", name_of_group(group), run_.groups_file.string())));
        } else if (std::ranges::find(members->second, number) == members->second.end()) {
          if (findings_.count(rule::kNotInGroup))
            findings_.keep(
                finding(rule::kNotInGroup, number, *of_rank.front(),
                        format("takes part in {}, which rank {} is not in", name_of_group(group), number)));
        }
      }
    }
    if (named && run_.groups == nullptr && findings_.count(rule::kNoGroupsFile)) {
      Finding none;
      none.rule = &rule::kNoGroupsFile;
      none.file = run_.ranks.front().file;
      none.message = format("process groups are named, and there is no {} that says who is in them",
                            run_.groups_file.filename().string());
      findings_.keep(std::move(none));
    }
  }

  // Ranks that should take part: those of the groups' file, else those that do.
  std::vector<std::int64_t> members_of(const std::string& group, const CallsByRank& calls) const {
    if (!group.empty() && run_.groups != nullptr && run_.groups->contains(group))
      return run_.groups->at(group);
    std::vector<std::int64_t> members;
    if (group.empty()) {
      for (const auto& [number, entry] : by_rank_) members.push_back(number);
    } else {
      for (const auto& [number, of_rank] : calls) members.push_back(number);
    }
    return members;
  }

  void check_group(const std::string& group, const CallsByRank& calls) {
    static const Calls kNoCalls;
    std::vector<std::pair<std::int64_t, const Calls*>> sequences;  // of the members whose traces are here
    for (const std::int64_t number : members_of(group, calls)) {
      miss(number);
      if (!by_rank_.contains(number)) continue;
      const auto found = calls.find(number);
      sequences.emplace_back(number, found == calls.end() ? &kNoCalls : &found->second);
    }
    if (sequences.size() < 2) return;
    std::size_t longest = 0;
    for (const auto& [number, sequence] : sequences) longest = std::max(longest, sequence->size());
    for (std::size_t position = 0; position < longest; ++position)
      if (!agree_at(group, sequences, position)) return;
  }

  using Sequences = std::vector<std::pair<std::int64_t, const Calls*>>;

  // Whether all ranks do the same at that position; if not, says which does not.
  bool agree_at(const std::string& group, const Sequences& sequences, std::size_t position) {
    std::map<std::optional<WhatIsCalled>, std::size_t> votes;
    for (const auto& [number, sequence] : sequences)
      ++votes[position < sequence->size() ? std::optional(what(*(*sequence)[position])) : std::nullopt];
    if (votes.size() == 1) return true;
    const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) {
      return std::pair(vote.second, vote.first.has_value());  // of two, the one that does something
    });
    const auto is_right = [&](const auto& entry) {
      const Calls& sequence = *entry.second;
      return (position < sequence.size() ? std::optional(what(*sequence[position])) : std::nullopt) ==
             most->first;
    };
    const auto& right = *std::ranges::find_if(sequences, is_right);
    const auto& wrong = *std::ranges::find_if_not(sequences, is_right);
    return report_difference(group, position, right, wrong);
  }

  // Whether what follows can still be compared: amounts of an all-to-all may differ on purpose.
  bool report_difference(const std::string& group, std::size_t position, const Sequences::value_type& right,
                         const Sequences::value_type& wrong) {
    const std::string where = format("collective {} of {}", position + 1, name_of_group(group));
    const bool right_ends = position >= right.second->size();
    const bool wrong_ends = position >= wrong.second->size();
    if (right_ends || wrong_ends) {
      const auto& longer = right_ends ? wrong : right;
      const auto& shorter = right_ends ? right : wrong;
      const CheckedCollective& call = *(*longer.second)[position];
      const std::uint64_t more = longer.second->size() - shorter.second->size();
      if (findings_.count(rule::kCollectiveCount)) {
        Finding found = finding(
            rule::kCollectiveCount, longer.first, call,
            format("{}, {}, has no partner on rank {}, which has {} of the group where rank {} has {}", where,
                   describe(call), shorter.first, shorter.second->size(), longer.first,
                   longer.second->size()));
        found.count = more;
        findings_.keep(std::move(found));
      }
      return false;
    }
    const CheckedCollective& expected = *(*right.second)[position];
    const CheckedCollective& call = *(*wrong.second)[position];
    const bool uneven = call.type == CollectiveType::kAllToAll && expected.type == call.type;
    const Rule& rule = uneven                                                  ? rule::kUnevenAllToAll
                       : same_set(*right.second, *wrong.second)                ? rule::kCollectiveOrder
                       : one_call_more(*right.second, *wrong.second, position) ? rule::kCollectiveCount
                       : call.type != expected.type                            ? rule::kCollectiveType
                                                                               : rule::kCollectiveSize;
    if (findings_.count(rule))
      findings_.keep(finding(rule, wrong.first, call,
                             format("{} is {}, and {} on {}", where, describe(call), describe(expected),
                                    describe_node(right.first, expected.node, expected.name))));
    return uneven;
  }

  // Whether both call the same, in whatever order.
  static bool same_set(const Calls& a, const Calls& b) {
    if (a.size() != b.size()) return false;
    const auto sorted = [](const Calls& calls) {
      std::vector<WhatIsCalled> all;
      for (const CheckedCollective* call : calls) all.push_back(what(*call));
      std::ranges::sort(all);
      return all;
    };
    return sorted(a) == sorted(b);
  }

  // Whether one of them has a call at that position that the other leaves out: then the rest agrees.
  static bool one_call_more(const Calls& a, const Calls& b, std::size_t position) {
    const Calls& longer = a.size() > b.size() ? a : b;
    const Calls& shorter = a.size() > b.size() ? b : a;
    const std::size_t more = longer.size() - shorter.size();
    if (more == 0) return false;
    for (std::size_t i = position; i < shorter.size(); ++i)
      if (what(*longer[i + more]) != what(*shorter[i])) return false;
    return true;
  }

  using MessageKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // source, target, tag
  struct Pair {
    std::vector<const Message*> sends;
    std::vector<const Message*> receives;
  };

  void check_messages() {
    std::map<MessageKey, Pair> pairs;
    for (const RankCommunication& rank : run_.ranks) {
      for (const Message& send : rank.sends) {
        miss(send.peer);
        pairs[{rank.rank, send.peer, send.tag}].sends.push_back(&send);
      }
      for (const Message& receive : rank.receives) {
        miss(receive.peer);
        pairs[{receive.peer, rank.rank, receive.tag}].receives.push_back(&receive);
      }
    }
    for (const auto& [key, pair] : pairs) check_pair(key, pair);
  }

  void check_pair(const MessageKey& key, const Pair& pair) {
    const auto& [source, target, tag] = key;
    if (!by_rank_.contains(source) || !by_rank_.contains(target)) return;
    const std::string route = format("from rank {} to rank {} with tag {}", source, target, tag);
    const std::size_t both = std::min(pair.sends.size(), pair.receives.size());
    for (std::size_t i = 0; i < both; ++i) {
      const Message& send = *pair.sends[i];
      const Message& receive = *pair.receives[i];
      if (send.bytes == receive.bytes || !findings_.count(rule::kMessageSize)) continue;
      findings_.keep(finding(rule::kMessageSize, target, receive.node, receive.name,
                             format("receives {} bytes {}, and {} sends {}", receive.bytes, route,
                                    describe_node(source, send.node, send.name), send.bytes)));
    }
    for (std::size_t i = both; i < pair.sends.size(); ++i)
      if (findings_.count(rule::kSendWithoutReceive))
        findings_.keep(finding(rule::kSendWithoutReceive, source, pair.sends[i]->node, pair.sends[i]->name,
                               format("nothing receives its {} bytes {}", pair.sends[i]->bytes, route)));
    for (std::size_t i = both; i < pair.receives.size(); ++i)
      if (findings_.count(rule::kReceiveWithoutSend))
        findings_.keep(finding(rule::kReceiveWithoutSend, target, pair.receives[i]->node,
                               pair.receives[i]->name,
                               format("nothing sends its {} bytes {}", pair.receives[i]->bytes, route)));
  }

  // With several files, the others of the run are expected, too: those between the lowest and the highest
  // rank, those in groups, and those that messages go to.
  void report_missing_ranks() {
    if (alone()) return;
    if (run_.groups != nullptr)
      for (const auto& [group, members] : *run_.groups)
        for (const std::int64_t number : members) miss(number);
    std::int64_t expected = 0;
    for (const auto& [number, entry] : by_rank_) {
      // Beyond that, numbers are no ranks, and a list of all that are missing is of no use.
      constexpr std::int64_t kMostMissing = 1'000'000;
      for (; expected < number && missing_.size() < kMostMissing; ++expected) missing_.insert(expected);
      expected = number + 1;
    }
    if (missing_.empty() || !findings_.count(rule::kMissingRank)) return;
    constexpr std::size_t kShown = 8;
    std::string list;
    std::size_t shown = 0;
    for (const std::int64_t number : missing_) {
      if (shown++ == kShown) break;
      list += format("{}{}", list.empty() ? "" : ", ", number);
    }
    if (missing_.size() > kShown) list += format(", ... ({} in all)", missing_.size());
    Finding found;
    found.rule = &rule::kMissingRank;
    found.file = run_.ranks.front().file;
    found.message = format("no trace was given of rank{} {}", missing_.size() == 1 ? "" : "s", list);
    found.count = missing_.size();
    findings_.keep(std::move(found));
  }

  const Run& run_;
  Findings& findings_;
  std::map<std::int64_t, const RankCommunication*> by_rank_;
  std::map<std::string, CallsByRank> groups_;
  std::set<std::int64_t> missing_;
};

}  // namespace

void check_ranks(const Run& run, Findings& findings) {
  RankCheck(run, findings).run();
}

}  // namespace nadi::inline traces
