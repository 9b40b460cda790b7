#include "nadi/analysis/stragglers.h"

#include <algorithm>
#include <tuple>

namespace nadi::inline traces {
namespace {

void keep_worst(std::vector<StragglerCollective>& collectives, std::size_t count) {
  std::ranges::sort(collectives, [](const StragglerCollective& a, const StragglerCollective& b) {
    return std::tie(b.waited, a.group, a.number) < std::tie(a.waited, b.group, b.number);
  });
  if (collectives.size() > count) collectives.resize(count);
}

}  // namespace

Stragglers find_stragglers(const std::vector<RankCalls>& ranks, const Meetings& meetings, std::size_t kept) {
  Stragglers result{.measure = meetings.measure(),
                    .matched = meetings.matched(),
                    .unmatched = meetings.unmatched(),
                    .impossible = meetings.impossible()};
  for (const RankCalls& rank : ranks) result.ranks.push_back({.rank = rank.rank});
  meetings.for_each_collective([&](const std::string& group, std::int64_t number, Meetings::Members members) {
    StragglerCollective& meeting = result.collectives.emplace_back();
    meeting.group = group;
    meeting.number = number;
    meeting.first_rank = ranks[members[0].first].rank;
    for (const auto& [rank, call] : members) {
      const Nanoseconds wait = meetings.of_call(rank, call).wait;
      ++result.ranks[rank].collectives;
      result.ranks[rank].suffered += wait;
      meeting.waited += wait;
      if (wait <= meeting.longest_wait) continue;
      meeting.longest_wait = wait;
      meeting.first_rank = ranks[rank].rank;
    }
    const Arrival& arrival = meetings.of_call(members[0].first, members[0].second);
    const RankCalls& last = ranks[arrival.last_rank];
    meeting.kind = last.kinds[last.calls[arrival.last_call].kind];
    meeting.last_rank = last.rank;
    StragglerRank& straggler = result.ranks[arrival.last_rank];
    ++straggler.last;
    straggler.caused += meeting.waited;
    result.waited += meeting.waited;
    // Cut now and then: a long run has more collectives than anybody wants to see.
    if (result.collectives.size() >= 2 * kept + 1000) keep_worst(result.collectives, kept);
  });
  keep_worst(result.collectives, kept);
  return result;
}

}  // namespace nadi::inline traces
