// What decided when each node of a rank could start, as far as a critical path can need it: a small copy of
// the trace that is kept while the traces of other ranks are read.
//
//   PathForest forest(timeline, calls_of(timeline, rank));
//   for (std::uint32_t at = forest.last(); at != kNoRow; at = forest.node(at).parent) ...
//
// The parent of a node is the one that ended last of those it waited for. Between the parent's end and the
// node's own begin nothing of the path ran: `gaps` say whom that time belongs to, if anybody.
//
// A lane of the device runs one node after the other, so a node waits for the one before it on its lane, too,
// whether or not the trace says so. In a run of ours on a CPU one thread computes and starts messages and
// collectives: these wait for what it computed before. Control dependencies on the host's ops say what is
// nested in what; a node that has data dependencies waits for those. A host's call that waited for the device
// (it synchronises) begins when the work it waited for had ended.
//
// Holds the nodes on the way back from the last node and from each collective and message: 41 bytes each.
// Times that contradict the dependencies may make the way lead round in a circle: whoever follows it has to
// stop at a node that was there before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/analysis/rank_calls.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// Time that belongs to an op around the nodes, or to nobody known (activity is kNone).
struct PathGap {
  Nanoseconds from = {}, to = {};
  Activity activity = Activity::kNone;
  std::uint32_t name = 0;   // see PathForest::name(); of kNone "launch delay" or "untraced"
  std::uint32_t phase = 0;  // see PathForest::phase()
};

struct PathNode {
  Nanoseconds begin = {}, end = {};
  std::uint32_t parent = kNoRow;  // position in the forest
  std::uint32_t gaps_end = 0;     // position behind its gaps; they begin where those of the node before end
  std::uint32_t name = 0;
  std::uint32_t phase = 0;
  Activity activity = Activity::kNone;
};

class PathForest {
 public:
  // Times are shifted as those of the calls are (calls_of()).
  PathForest(const Timeline& timeline, const RankCalls& calls, Nanoseconds clock_offset = {});

  std::int64_t rank() const { return rank_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  const PathNode& node(std::uint32_t position) const { return nodes_[position]; }
  std::span<const PathGap> gaps(std::uint32_t position) const {
    const std::uint32_t begin = position == 0 ? 0 : nodes_[position - 1].gaps_end;
    return {gaps_.data() + begin, nodes_[position].gaps_end - begin};
  }
  std::string_view name(std::uint32_t number) const { return texts_[number]; }
  std::string_view phase(std::uint32_t number) const { return texts_[number]; }

  // Positions of the last to end, kNoRow where there are no nodes with times; and of the calls.
  std::uint32_t last() const { return last_; }
  std::span<const std::uint32_t> calls() const { return calls_; }
  std::span<const std::uint32_t> messages() const { return messages_; }

 private:
  friend class PathForestMaker;

  std::int64_t rank_ = 0;
  std::uint32_t last_ = kNoRow;
  std::vector<PathNode> nodes_;
  std::vector<PathGap> gaps_;
  std::vector<std::string> texts_;  // the first is empty
  std::vector<std::uint32_t> calls_, messages_;
};

}  // namespace nadi::inline traces
