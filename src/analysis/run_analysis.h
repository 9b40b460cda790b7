// All questions about the traces of a run's ranks at once.
//
//   RunAnalysis run;
//   for (each rank) {
//     const Trace trace = read_chakra(file);
//     add_rank(run, {.trace = trace, .file = file, .rank = rank}, options);    // the trace may go then
//   }
//   finish(run);
//   run.ranks[0].breakdown.idle, run.ops, run.stragglers, ...
//
// Ranks are analysed one after the other, so that one trace is in memory at a time; what is kept of each
// grows with the number of different ops and of collectives, not with that of nodes (except with `profile`,
// which keeps a sum for each op of a step).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/comparison.h"
#include "nadi/analysis/critical_path.h"
#include "nadi/analysis/idle.h"
#include "nadi/analysis/launches.h"
#include "nadi/analysis/op_table.h"
#include "nadi/analysis/overlap.h"
#include "nadi/analysis/stragglers.h"

namespace nadi {

struct AnalysisOptions {
  std::optional<std::int64_t> step = {};  // only this step; nothing: all
  IdleOptions idle = {};
  LaunchOptions launches = {};
  GroupSizes groups = {};  // what the process-group file says
  bool profile = false;    // for compare()
};

struct RankAnalysis {
  std::string file = {};
  std::int64_t rank = 0;
  TimelineClock clock = TimelineClock::kNone;
  std::int64_t nodes = 0;          // that were analysed
  std::int64_t left_out = 0;       // of other steps
  std::int64_t without_times = 0;  // of those analysed, where others have some
  std::vector<std::int64_t> steps = {};
  // From the first start to the last end, with the host's nodes.
  Nanoseconds start = {}, end = {};
  Breakdown breakdown = {};
  std::vector<CommunicationRow> communications = {};
  std::vector<LaneIdle> idle = {};
  std::vector<GroupRow> step_rows = {};
  LaunchStatistics launches = {};
  std::vector<QueueRow> queues = {};
  CriticalPath critical_path = {};
  LongestChain chain = {};  // where there is no clock
};

struct RunAnalysis {
  std::vector<RankAnalysis> ranks = {};
  // Over all ranks.
  std::vector<OpRow> ops = {};
  std::vector<GroupRow> layers = {}, phases = {};
  OpProfile profile;
  std::vector<RankCollectives> collectives = {};
  Stragglers stragglers;
};

struct RankInput {
  const Trace& trace;
  std::string file = {};
  std::int64_t rank = 0;
};

// Throws Error: input where the trace is none that can be replayed (trace_check.h), usage for a step that it
// does not have.
void add_rank(RunAnalysis& run, const RankInput& input, const AnalysisOptions& options);

// What can only be said about all ranks: stragglers, and the sizes of groups that no file tells, taken as the
// number of ranks that use them.
void finish(RunAnalysis& run);

}  // namespace nadi
