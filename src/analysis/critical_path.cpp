#include "nadi/analysis/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"

namespace nadi {
namespace {

Nanoseconds& total_of(CriticalSums& sums, Activity activity) {
  switch (activity) {
    case Activity::kNone:
      return sums.waiting;
    case Activity::kHost:
      return sums.host;
    case Activity::kCompute:
      return sums.compute;
    case Activity::kCommunication:
      return sums.communication;
    case Activity::kMemory:
      return sums.memory;
  }
  unreachable();
}

// Where the transfer of a call begins, and with whom the path goes on before that.
struct Join {
  Nanoseconds complete = {};
  std::uint32_t rank = kNobody;  // kNobody: with the rank itself
  std::uint32_t node = kNoRow;
};
// By rank: nodes that waited for another rank.
using Joins = std::vector<std::map<std::uint32_t, Join>>;

class PathWalk {
 public:
  PathWalk(const std::vector<PathForest>& forests, const Joins& joins) : forests_(forests), joins_(joins) {
    for (const PathForest& forest : forests) visited_.emplace_back(forest.size());
  }

  CriticalPath run(std::uint32_t rank) {
    std::uint32_t at = forests_[rank].last();
    if (at == kNoRow) return {};
    Nanoseconds until = forests_[rank].node(at).end;
    path_.end = until;
    bool came_across = false;
    while (at != kNoRow && !visited_[rank][at]) {
      visited_[rank][at] = true;
      const PathForest& forest = forests_[rank];
      const PathNode& node = forest.node(at);
      if (const Join* join = join_of(rank, at)) {
        // Only the transfer: the wait before it is the late rank's.
        const Nanoseconds complete = std::min(until, join->complete);
        charge(rank, node, until - complete);
        until = complete;
        ++path_.crossings;
        came_across = true;
        rank = join->rank;
        at = join->node;
        continue;
      }
      const Nanoseconds begun = std::min(until, node.begin);
      // Of the late rank's call the transfer was charged already.
      if (!came_across || until > begun) charge(rank, node, until - begun);
      came_across = false;
      until = begun;
      if (node.parent != kNoRow) {
        for (const PathGap& gap : forest.gaps(at))
          charge_gap(rank, gap, std::min(gap.to, until) - std::min(gap.from, until));
        until = std::min(until, forest.node(node.parent).end);
      }
      at = node.parent;
    }
    path_.start = until;
    collect();
    return std::move(path_);
  }

 private:
  const Join* join_of(std::uint32_t rank, std::uint32_t node) const {
    if (joins_.empty()) return nullptr;
    const auto join = joins_[rank].find(node);
    return join == joins_[rank].end() ? nullptr : &join->second;
  }

  void charge(std::uint32_t rank, const PathNode& node, Nanoseconds time) {
    ++path_.nodes;
    ++ranks_[rank].nodes;
    add(rank, {node.activity, std::string(forests_[rank].name(node.name))}, forests_[rank].phase(node.phase),
        time);
  }

  void charge_gap(std::uint32_t rank, const PathGap& gap, Nanoseconds time) {
    if (time == Nanoseconds{}) return;
    add(rank, {gap.activity, std::string(forests_[rank].name(gap.name))}, forests_[rank].phase(gap.phase),
        time);
  }

  void add(std::uint32_t rank, const std::pair<Activity, std::string>& key, std::string_view phase,
           Nanoseconds time) {
    CriticalRow& entry = rows_[key];
    ++entry.nodes;
    entry.time += time;
    phases_[std::string(phase)] += time;
    total_of(path_, key.first) += time;
    total_of(ranks_[rank], key.first) += time;
  }

  void collect() {
    for (auto& [key, row] : rows_) {
      row.activity = key.first;
      row.name = key.second;
      path_.rows.push_back(row);
    }
    std::ranges::sort(path_.rows, [](const CriticalRow& a, const CriticalRow& b) {
      return std::tie(b.time, a.activity, a.name) < std::tie(a.time, b.activity, b.name);
    });
    for (const auto& [phase, time] : phases_) path_.phases.push_back({phase, time});
    std::ranges::sort(path_.phases, [](const CriticalPhase& a, const CriticalPhase& b) {
      return std::tie(b.time, a.phase) < std::tie(a.time, b.phase);
    });
    for (auto& [position, sums] : ranks_) {
      sums.rank = forests_[position].rank();
      path_.ranks.push_back(sums);
    }
    std::ranges::sort(path_.ranks, {}, &CriticalRank::rank);
  }

  const std::vector<PathForest>& forests_;
  const Joins& joins_;
  std::vector<std::vector<bool>> visited_;
  CriticalPath path_;
  std::map<std::pair<Activity, std::string>, CriticalRow> rows_;
  std::map<std::string, Nanoseconds> phases_;
  std::map<std::uint32_t, CriticalRank> ranks_;
};

Joins joins_of(const std::vector<PathForest>& forests, const std::vector<RankCalls>& ranks,
               const Meetings& meetings) {
  Joins joins(forests.size());
  for (std::size_t rank = 0; rank < forests.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].calls.size(); ++i) {
      const Arrival& arrival = meetings.of_call(rank, i);
      if (arrival.wait > Nanoseconds{} && arrival.last_rank != rank)
        joins[rank].emplace(forests[rank].calls()[i],
                            Join{.complete = ranks[rank].calls[i].start + arrival.wait,
                                 .rank = arrival.last_rank,
                                 .node = forests[arrival.last_rank].calls()[arrival.last_call]});
    }
    for (std::size_t i = 0; i < ranks[rank].messages.size(); ++i) {
      const Arrival& arrival = meetings.of_message(rank, i);
      if (arrival.wait > Nanoseconds{} && arrival.last_rank != rank)
        joins[rank].emplace(forests[rank].messages()[i],
                            Join{.complete = ranks[rank].messages[i].start + arrival.wait,
                                 .rank = arrival.last_rank,
                                 .node = forests[arrival.last_rank].messages()[arrival.last_call]});
    }
  }
  return joins;
}

}  // namespace

CriticalPath critical_path(const Timeline& timeline) {
  const std::vector<PathForest> forests{PathForest(timeline, {})};
  const Joins none;
  return PathWalk(forests, none).run(0);
}

bool joins_paths(const Meetings& meetings) {
  return meetings.measure() == WaitMeasure::kArrival && meetings.matched() + meetings.matched_messages() > 0;
}

std::vector<CriticalPath> critical_paths(const std::vector<PathForest>& forests,
                                         const std::vector<RankCalls>& ranks, const Meetings& meetings) {
  const bool joined = joins_paths(meetings);
  const Joins joins = joined ? joins_of(forests, ranks, meetings) : Joins();
  std::vector<CriticalPath> paths;
  std::uint32_t last = 0;
  for (std::uint32_t rank = 0; rank < forests.size(); ++rank) {
    const auto end = [&](std::uint32_t of) { return forests[of].node(forests[of].last()).end; };
    if (!joined)
      paths.push_back(PathWalk(forests, joins).run(rank));
    else if (forests[rank].last() != kNoRow && (forests[last].last() == kNoRow || end(rank) > end(last)))
      last = rank;
  }
  if (joined) paths.push_back(PathWalk(forests, joins).run(last));
  return paths;
}

LongestChain longest_chain(const Timeline& timeline) {
  std::vector<std::uint32_t> depth(timeline.size());
  std::vector<Flops> work(timeline.size());
  LongestChain longest;
  for (const std::uint32_t row : timeline.dependencies().order()) {
    for (const std::uint32_t parent : timeline.dependencies().parents(row)) {
      depth[row] = std::max(depth[row], depth[parent]);
      work[row] = std::max(work[row], work[parent]);
    }
    if (timeline.activity(row) == Activity::kNone) continue;
    ++depth[row];
    work[row] += timeline.num_ops(row).value_or(Flops{});
    longest.nodes = std::max<std::int64_t>(longest.nodes, depth[row]);
    longest.work = std::max(longest.work, work[row]);
  }
  return longest;
}

}  // namespace nadi
