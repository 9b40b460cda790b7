#include "nadi/analysis/rank_calls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "nadi/analysis/breakdown.h"

namespace nadi::inline traces {
namespace {

// Gives each text a position, in the order of appearance.
class Positions {
 public:
  explicit Positions(std::vector<std::string>& texts) : texts_(texts) {}

  std::uint32_t of(std::string_view text) {
    const auto known = positions_.find(text);
    if (known != positions_.end()) return known->second;
    const auto position = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(text);
    positions_.emplace(text, position);
    return position;
  }

 private:
  std::vector<std::string>& texts_;
  std::map<std::string, std::uint32_t, std::less<>> positions_;
};

}  // namespace

RankCalls calls_of(const Timeline& timeline, std::int64_t rank, Nanoseconds clock_offset) {
  RankCalls result{.rank = rank};
  Positions kinds(result.kinds), groups(result.groups);
  std::vector<const Communication*> calls;
  for (const Communication& call : timeline.communications()) calls.push_back(&call);
  std::ranges::stable_sort(calls, std::less<>{},
                           [&](const Communication* call) { return timeline.start(call->row); });
  for (const Communication* call : calls) {
    const Nanoseconds start = timeline.start(call->row) + clock_offset;
    const Nanoseconds end = timeline.end(call->row) + clock_offset;
    if (call->type == NodeType::kCommSend || call->type == NodeType::kCommRecv) {
      if (call->peer)
        result.messages.push_back({.sends = call->type == NodeType::kCommSend,
                                   .peer = *call->peer,
                                   .tag = call->tag.value_or(0),
                                   .row = call->row,
                                   .text = call->group,
                                   .start = start,
                                   .end = end});
      else
        result.without_peer.push_back({start, end});
      continue;
    }
    // No group and group 0 both mean all ranks.
    const std::string_view group = timeline.text(call->group);
    result.calls.push_back({.kind = kinds.of(kind_of(*call)),
                            .group = groups.of(group.empty() ? "0" : group),
                            .row = call->row,
                            .text = call->group,
                            .start = start,
                            .end = end});
  }
  result.without_peer = merged(std::move(result.without_peer));
  result.exposed =
      without(intervals_of(timeline, Activity::kCommunication), intervals_of(timeline, Activity::kCompute));
  for (Interval& interval : result.exposed) {
    interval.start += clock_offset;
    interval.end += clock_offset;
  }
  return result;
}

}  // namespace nadi::inline traces
