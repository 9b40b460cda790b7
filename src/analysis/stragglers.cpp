#include "nadi/analysis/stragglers.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace nadi {
namespace {

// Of matched collectives, the share that clocks may contradict before they are taken for unrelated.
constexpr std::int64_t kBelievedOneIn = 10;

// One rank's calls of a group.
struct Member {
  std::size_t rank;  // position in the list of ranks
  std::vector<const CollectiveCall*> calls;
};

// In these nobody leaves before all have come. (A broadcast's root may.)
bool holds_everybody(std::string_view kind) {
  return kind == "ALL_REDUCE" || kind == "ALL_GATHER" || kind == "REDUCE_SCATTER" ||
         kind == "REDUCE_SCATTER_BLOCK" || kind == "ALL_TO_ALL" || kind == "BARRIER";
}

// The calls of one collective, by member.
using Meeting = std::vector<std::pair<std::size_t, const CollectiveCall*>>;

Nanoseconds duration(const CollectiveCall& call) {
  return call.end - call.start;
}

class StragglerSearch {
 public:
  StragglerSearch(const std::vector<RankCollectives>& ranks, std::size_t kept) : ranks_(ranks), kept_(kept) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      result_.ranks.push_back({.rank = ranks[rank].rank});
      std::map<std::uint32_t, Member*> own;
      for (const CollectiveCall& call : ranks[rank].calls) {
        Member*& member = own[call.group];
        if (member == nullptr)
          member = &members_[ranks[rank].groups[call.group]].emplace_back(Member{rank, {}});
        member->calls.push_back(&call);
      }
    }
  }

  Stragglers run() {
    for_each_meeting(
        [this](const std::string&, std::int64_t, const Meeting& meeting) { check_clock(meeting); });
    if (result_.impossible * kBelievedOneIn > result_.matched) result_.measure = WaitMeasure::kDuration;
    for_each_meeting([this](const std::string& group, std::int64_t number, const Meeting& meeting) {
      add(group, number, meeting);
    });
    keep_worst(kept_);
    return std::move(result_);
  }

 private:
  const std::string& kind_of(std::size_t rank, const CollectiveCall& call) const {
    return ranks_[rank].kinds[call.kind];
  }

  void for_each_meeting(const std::function<void(const std::string&, std::int64_t, const Meeting&)>& use) {
    result_.unmatched = 0;
    for (const auto& [group, members] : members_) {
      if (members.size() < 2) continue;
      std::size_t least = std::numeric_limits<std::size_t>::max();
      std::size_t all = 0;
      for (const Member& member : members) {
        least = std::min(least, member.calls.size());
        all += member.calls.size();
      }
      Meeting meeting(members.size());
      std::size_t number = 0;
      for (; number < least; ++number) {
        for (std::size_t i = 0; i < members.size(); ++i)
          meeting[i] = {members[i].rank, members[i].calls[number]};
        const std::string& kind = kind_of(meeting[0].first, *meeting[0].second);
        const bool agreed = std::ranges::all_of(
            meeting, [&](const auto& call) { return kind_of(call.first, *call.second) == kind; });
        if (!agreed) break;
        use(group, static_cast<std::int64_t>(number), meeting);
      }
      result_.unmatched += static_cast<std::int64_t>(all - number * members.size());
    }
  }

  void check_clock(const Meeting& meeting) {
    ++result_.matched;
    if (!holds_everybody(kind_of(meeting[0].first, *meeting[0].second))) return;
    Nanoseconds last_start = meeting[0].second->start;
    Nanoseconds first_end = meeting[0].second->end;
    for (const auto& [rank, call] : meeting) {
      last_start = std::max(last_start, call->start);
      first_end = std::min(first_end, call->end);
    }
    result_.impossible += last_start > first_end ? 1 : 0;
  }

  // Later is larger.
  Nanoseconds arrival(const CollectiveCall& call) const {
    return result_.measure == WaitMeasure::kArrival ? call.start : Nanoseconds{} - duration(call);
  }

  void add(const std::string& group, std::int64_t number, const Meeting& meeting) {
    std::size_t last = 0, first = 0;
    for (std::size_t i = 1; i < meeting.size(); ++i) {
      if (arrival(*meeting[i].second) > arrival(*meeting[last].second)) last = i;
      if (arrival(*meeting[i].second) < arrival(*meeting[first].second)) first = i;
    }
    const Nanoseconds complete = arrival(*meeting[last].second);
    Nanoseconds waited;
    for (const auto& [rank, call] : meeting) {
      ++result_.ranks[rank].collectives;
      result_.ranks[rank].suffered += complete - arrival(*call);
      waited += complete - arrival(*call);
    }
    StragglerRank& straggler = result_.ranks[meeting[last].first];
    ++straggler.last;
    straggler.caused += waited;
    result_.waited += waited;
    result_.collectives.push_back({.group = group,
                                   .kind = kind_of(meeting[last].first, *meeting[last].second),
                                   .number = number,
                                   .last_rank = straggler.rank,
                                   .first_rank = ranks_[meeting[first].first].rank,
                                   .longest_wait = complete - arrival(*meeting[first].second),
                                   .waited = waited});
    // Cut now and then: a long run has more collectives than anybody wants to see.
    if (result_.collectives.size() >= 2 * kept_ + 1000) keep_worst(kept_);
  }

  void keep_worst(std::size_t count) {
    std::ranges::sort(result_.collectives, [](const StragglerCollective& a, const StragglerCollective& b) {
      return std::tie(b.waited, a.group, a.number) < std::tie(a.waited, b.group, b.number);
    });
    if (result_.collectives.size() > count) result_.collectives.resize(count);
  }

  const std::vector<RankCollectives>& ranks_;
  std::size_t kept_;
  std::map<std::string, std::vector<Member>> members_;  // by group
  Stragglers result_;
};

}  // namespace

RankCollectives collectives_of(const Timeline& timeline, std::int64_t rank) {
  RankCollectives result{.rank = rank};
  std::map<std::string, std::uint32_t, std::less<>> kinds;
  std::unordered_map<std::uint32_t, std::uint32_t> groups;
  std::vector<const Communication*> calls;
  for (const Communication& call : timeline.communications())
    if (call.type == NodeType::kCommColl) calls.push_back(&call);
  std::ranges::stable_sort(calls, std::less<>{},
                           [&](const Communication* call) { return timeline.start(call->row); });
  for (const Communication* call : calls) {
    const std::string_view kind_name = nadi::kind_of(*call);
    auto kind = kinds.find(kind_name);
    if (kind == kinds.end()) {
      kind = kinds.emplace(kind_name, static_cast<std::uint32_t>(result.kinds.size())).first;
      result.kinds.emplace_back(kind_name);
    }
    const auto [group, is_new] =
        groups.try_emplace(call->group, static_cast<std::uint32_t>(result.groups.size()));
    if (is_new) {
      // No group and group 0 both mean all ranks.
      const std::string_view name = timeline.text(call->group);
      result.groups.emplace_back(name.empty() ? "0" : name);
    }
    result.calls.push_back({.kind = kind->second,
                            .group = group->second,
                            .start = timeline.start(call->row),
                            .end = timeline.end(call->row)});
  }
  return result;
}

Stragglers find_stragglers(const std::vector<RankCollectives>& ranks, std::size_t kept) {
  return StragglerSearch(ranks, kept).run();
}

}  // namespace nadi
