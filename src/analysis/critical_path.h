// The chain of nodes that decided when the trace ended: from the last node back through the dependency that
// ended last, and so on to one that waited for nothing.
//
//   const CriticalPath path = critical_path(timeline);
//   path.host + path.compute + path.communication + path.memory + path.waiting == path.end - path.start
//
// Each moment of the path belongs to the node that was running on it, or to nobody known. Two kinds of the
// latter: from the end of a launch call to the start on the device ("launch delay"), and all else
// ("untraced"). Time of the host between two ops belongs to the op that encloses it.
//
// A lane of the device runs one node after the other, so a node waits for the one before it on its lane, too,
// whether or not the trace says so. Control dependencies on the host's ops say what is nested in what; a node
// that has data dependencies waits for those. A host's call that waited for the device (it synchronises)
// starts to count when the work it waited for had ended. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi {

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

struct CriticalPath {
  Nanoseconds start = {}, end = {};
  std::int64_t nodes = 0;
  Nanoseconds host = {}, compute = {}, communication = {}, memory = {}, waiting = {};
  std::vector<CriticalRow> rows = {};      // the longest first
  std::vector<CriticalPhase> phases = {};  // the longest first
};

// Empty (nodes is 0) for a trace without nodes.
CriticalPath critical_path(const Timeline& timeline);

// For traces without times: nodes on the longest chain of dependencies, and the work on the heaviest.
struct LongestChain {
  std::int64_t nodes = 0;
  Flops work;
};
LongestChain longest_chain(const Timeline& timeline);

}  // namespace nadi
