// Runs a job whose communication takes times that are known beforehand, and whose streams are in order: the
// fast way, without an event queue.
//
//   const ReplayOutcome outcome = replay_in_order(job, {.keep_times = true});
//   if (outcome.stuck) ...                                      // replay_deadlock.h says it in words
//
// Each start is the largest of the ends before it, so the order in which they are computed does not matter.
// An actor is taken along its program as far as possible; a node whose parents have an end that is not known
// yet (communication whose partners have not come) stops it, and whoever comes last to a meeting sets others
// free. One pass over all nodes, a few nanoseconds each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/op.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/simulation.h"

namespace nadi {

struct ReplayShare {
  Nanoseconds busy = {}, exposed = {};
};

struct ActorOutcome {
  Nanoseconds end = {};
  std::array<Nanoseconds, kPhaseCount> compute = {};
  Nanoseconds bubble = {};
  std::vector<ReplayShare> shares = {};  // by ReplayCommunication::share
  std::vector<NodeTime> nodes = {};      // where they are kept
};

// An actor that did not get to its end, or whose communication never ended.
struct StuckActor {
  std::uint32_t actor = 0;
  std::uint32_t node = 0;                      // communication that it waits for
  std::vector<std::uint32_t> for_actors = {};  // who has not come to it
};

struct ReplayOutcome {
  Nanoseconds end = {};
  std::vector<ActorOutcome> actors = {};
  std::vector<StuckActor> stuck = {};  // empty: all ran to the end
};

struct ReplayOptions {
  bool keep_times = true;
};

ReplayOutcome replay_in_order(const ReplayJob& job, const ReplayOptions& options);

}  // namespace nadi
