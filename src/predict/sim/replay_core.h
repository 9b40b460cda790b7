// Runs a job whose communication takes times that are known beforehand, and whose computation is on one
// stream, in order: the fast way, without an event queue.
//
//   const ReplayOutcome outcome = replay_in_order(job, {.keep_times = true});
//   if (!outcome.stuck.empty()) throw deadlock_error(...);      // replay_deadlock.h
//
// Each start is the largest of the ends before it, so the order in which they are computed does not matter.
// An actor is taken along its program as far as possible; a node whose parents have an end that is not known
// yet (communication whose partners have not come) stops it, and whoever comes last to a meeting sets others
// free. One pass over all nodes, a few nanoseconds each. replay_events.h runs everything else, and is the
// oracle in tests.
#pragma once

#include "nadi/sim/replay_job.h"
#include "nadi/sim/replay_outcome.h"

namespace nadi::inline predict {

// Whether all of the job is as said above.
bool runs_in_order(const ReplayJob& job);

ReplayOutcome replay_in_order(const ReplayJob& job, const ReplayOptions& options);

}  // namespace nadi::inline predict
