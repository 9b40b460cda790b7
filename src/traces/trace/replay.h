// Replays a trace: every node starts as soon as all that it depends on have ended, and lasts as long as it
// was recorded to. Nothing else holds a node back, so what ran one after the other on a thread or a stream
// must say so by its dependencies; the agreement of the replay with the recorded times shows how complete
// the dependencies are.
//
//   const Replay replay = replay_trace(trace, TraceDependencies(trace));
//   replay.span            // from the first start to the last end
//   recorded_span(trace)   // the same, as it was recorded
#pragma once

#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline traces {

class Trace;
class TraceDependencies;

struct Replay {
  std::vector<Nanoseconds> starts;  // by row, from 0
  Nanoseconds span;
};

Replay replay_trace(const Trace& trace, const TraceDependencies& dependencies);

// From the first start to the last end of the nodes that have times (a start or a duration); 0 if there are
// none.
Nanoseconds recorded_span(const Trace& trace);

}  // namespace nadi::inline traces
