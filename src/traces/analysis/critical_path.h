// The critical path: the chain of dependent nodes that determines the end time. It is followed backward from
// the node that ended last, through the dependency that ended last, to a node without dependencies, across
// ranks.
//
//   const CriticalPath path = critical_path(timeline);                         // of one rank
//   const std::vector<CriticalPath> paths = critical_paths(forests, ranks, meetings);
//   path.host + path.compute + path.communication + path.memory + path.waiting == path.end - path.start
//
// Each moment of the path belongs to the node that was running, or to no traced node. There are two kinds of
// the latter: from the end of a launch call to the start on the device ("launch delay"), and all other time
// ("untraced"). Time of the host between two ops belongs to the op that encloses it. path_forest.h says what
// a node waited for.
//
// A collective or message that waited for a late rank (meetings.h) is on the path with its transfer only:
// from there the path goes on with what the late rank did before. This needs one clock for all ranks. Where
// clocks are not believed, or no calls match, each rank has a path of its own. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/meetings.h"
#include "nadi/analysis/path_forest.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

struct CriticalRow {
  std::string name = {};  // of the op; "launch delay", "untraced" where activity is kNone
  Activity activity = Activity::kNone;
  std::int64_t nodes = 0;  // stretches of the path
  Nanoseconds time = {};
};

struct CriticalPhase {
  std::string phase = {};  // "" where nothing is said
  Nanoseconds time = {};
};

struct CriticalSums {
  std::int64_t nodes = 0;
  Nanoseconds host = {}, compute = {}, communication = {}, memory = {}, waiting = {};

  Nanoseconds length() const { return host + compute + communication + memory + waiting; }
};

struct CriticalRank : CriticalSums {
  std::int64_t rank = 0;
};

// A part of a path: from when to when, on which rank, in which of the path's rows.
struct CriticalStretch {
  std::int64_t rank = 0;
  Nanoseconds from = {}, to = {};
  std::size_t row = 0;
};

struct CriticalPath : CriticalSums {
  Nanoseconds start = {}, end = {};
  std::int64_t crossings = 0;              // from one rank to another
  std::vector<CriticalRank> ranks = {};    // what is spent on each rank that it touches, by rank
  std::vector<CriticalRow> rows = {};      // the longest first
  std::vector<CriticalPhase> phases = {};  // the longest first
  // All of the path in the order of time, where asked for; stretches of no time are left out.
  std::vector<CriticalStretch> stretches = {};
};

// Empty (nodes is 0) for a trace without nodes.
CriticalPath critical_path(const Timeline& timeline);

enum class KeepStretches { kNo, kYes };

// One path across all ranks, or one for each rank; see above. `forests` and `ranks` are in the same order,
// that of the meetings.
std::vector<CriticalPath> critical_paths(const std::vector<PathForest>& forests,
                                         const std::vector<RankCalls>& ranks, const Meetings& meetings,
                                         KeepStretches keep = KeepStretches::kNo);

// Whether there is one path for all ranks.
bool joins_paths(const Meetings& meetings);

// For traces without times: nodes on the longest chain of dependencies, and the work on the heaviest.
struct LongestChain {
  std::int64_t nodes = 0;
  Flops work;
};
LongestChain longest_chain(const Timeline& timeline);

}  // namespace nadi::inline traces
