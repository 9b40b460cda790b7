#include "nadi/analysis/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline traces {
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
  PathWalk(const std::vector<PathForest>& forests, const Joins& joins, KeepStretches keep)
      : forests_(forests), joins_(joins), keep_(keep) {
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
        charge(rank, node, complete, until);
        until = complete;
        ++path_.crossings;
        came_across = true;
        rank = join->rank;
        at = join->node;
        continue;
      }
      const Nanoseconds begun = std::min(until, node.begin);
      // The transfer was charged to the late rank's call already.
      if (!came_across || until > begun) charge(rank, node, begun, until);
      came_across = false;
      until = begun;
      if (node.parent != kNoRow) {
        for (const PathGap& gap : forest.gaps(at))
          charge_gap(rank, gap, std::min(gap.from, until), std::min(gap.to, until));
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

  void charge(std::uint32_t rank, const PathNode& node, Nanoseconds from, Nanoseconds to) {
    ++path_.nodes;
    ++ranks_[rank].nodes;
    add({rank, node.activity, node.name, node.phase}, from, to);
  }

  void charge_gap(std::uint32_t rank, const PathGap& gap, Nanoseconds from, Nanoseconds to) {
    if (from == to) return;
    add({rank, gap.activity, gap.name, gap.phase}, from, to);
  }

  struct Piece {
    std::uint32_t rank;
    Activity activity;
    std::uint32_t name, phase;
  };

  void add(const Piece& piece, Nanoseconds from, Nanoseconds to) {
    const std::uint32_t rank = piece.rank;
    const std::pair key{piece.activity, std::string(forests_[rank].name(piece.name))};
    const std::string_view phase = forests_[rank].phase(piece.phase);
    const Nanoseconds time = to - from;
    CriticalRow& entry = rows_[key];
    if (keep_ == KeepStretches::kYes && time > Nanoseconds{})
      kept_.push_back({.rank = rank, .from = from, .to = to, .row = &entry});
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
    order_stretches();
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

  // The walk went backward.
  void order_stretches() {
    std::map<std::pair<Activity, std::string_view>, std::size_t> places;
    for (std::size_t row = 0; row < path_.rows.size(); ++row)
      places.emplace(std::pair(path_.rows[row].activity, std::string_view(path_.rows[row].name)), row);
    for (auto stretch = kept_.rbegin(); stretch != kept_.rend(); ++stretch)
      path_.stretches.push_back({.rank = forests_[stretch->rank].rank(),
                                 .from = stretch->from,
                                 .to = stretch->to,
                                 .row = places.at({stretch->row->activity, stretch->row->name})});
  }

  // A stretch while the rows have no order yet.
  struct Kept {
    std::uint32_t rank;
    Nanoseconds from, to;
    const CriticalRow* row;
  };

  const std::vector<PathForest>& forests_;
  const Joins& joins_;
  const KeepStretches keep_;
  std::vector<Kept> kept_;
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
  return PathWalk(forests, none, KeepStretches::kNo).run(0);
}

bool joins_paths(const Meetings& meetings) {
  return meetings.measure() == WaitMeasure::kArrival && meetings.matched() + meetings.matched_messages() > 0;
}

std::vector<CriticalPath> critical_paths(const std::vector<PathForest>& forests,
                                         const std::vector<RankCalls>& ranks, const Meetings& meetings,
                                         KeepStretches keep) {
  const bool joined = joins_paths(meetings);
  const Joins joins = joined ? joins_of(forests, ranks, meetings) : Joins();
  std::vector<CriticalPath> paths;
  std::uint32_t last = 0;
  for (std::uint32_t rank = 0; rank < forests.size(); ++rank) {
    const auto end = [&](std::uint32_t of) { return forests[of].node(forests[of].last()).end; };
    if (!joined)
      paths.push_back(PathWalk(forests, joins, keep).run(rank));
    else if (forests[rank].last() != kNoRow && (forests[last].last() == kNoRow || end(rank) > end(last)))
      last = rank;
  }
  if (joined) paths.push_back(PathWalk(forests, joins, keep).run(last));
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

}  // namespace nadi::inline traces
