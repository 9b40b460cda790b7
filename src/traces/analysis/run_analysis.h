// The whole analysis of a run, from the traces of its ranks.
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
// grows with the number of different ops, of collectives and messages, and of nodes that a critical path may
// touch (path_forest.h); with `profile` also with the number of ops of a step.
//
// Clocks of ranks are taken as recorded. Profiles say what their times count from (`base_time_ns` of the
// metadata): where that differs between ranks, times are shifted by the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/comparison.h"
#include "nadi/analysis/critical_path.h"
#include "nadi/analysis/duration_histogram.h"
#include "nadi/analysis/idle.h"
#include "nadi/analysis/launches.h"
#include "nadi/analysis/op_table.h"
#include "nadi/analysis/overlap.h"
#include "nadi/analysis/path_forest.h"
#include "nadi/analysis/rank_calls.h"
#include "nadi/analysis/stragglers.h"
#include "nadi/analysis/strip.h"
#include "nadi/analysis/work_kind.h"

namespace nadi::inline traces {

struct AnalysisOptions {
  std::optional<std::int64_t> step = {};  // only this step; nothing means all
  IdleOptions idle = {};
  LaunchOptions launches = {};
  GroupSizes groups = {};  // what the process-group file says
  KindPatterns kinds = {};
  bool profile = false;  // for compare()
  bool picture = false;  // for RunAnalysis::strips
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
  IdleCauses idle = {};
  std::vector<GroupRow> step_rows = {};
  LaunchStatistics launches = {};
  std::vector<QueueRow> queues = {};
  LongestChain chain = {};       // where there is no clock
  bool has_streams = false;      // some node of the device names its stream: it ran on a GPU
  std::string device_kind = {};  // "MTIA" and the like, where the trace says that it is no GPU
  bool is_own_run = false;       // the trace is of a run of Nadi on a CPU, or of a step that it would run
  // For one step of all ranks, where the metadata says it.
  std::optional<std::int64_t> samples_per_step = {}, tokens_per_step = {};
};

struct RunAnalysis {
  std::vector<RankAnalysis> ranks = {};
  // Over all ranks.
  std::vector<OpRow> ops = {};
  std::vector<KindRow> kinds = {};
  std::vector<GroupRow> layers = {}, phases = {};
  DurationHistogram durations;
  OpProfile profile;
  Stragglers stragglers;
  std::int64_t matched_messages = 0, unmatched_messages = 0;
  std::vector<CriticalPath> paths = {};  // one across all ranks, or one for each (critical_path.h)
  bool path_crosses_ranks = false;       // the former
  Strips strips = {};                    // with AnalysisOptions::picture
  // Calls of the ranks with times, until finish() has used them.
  std::vector<RankCalls> calls = {};
  std::vector<PathForest> forests = {};
  std::optional<Nanoseconds> base_time = {};  // what the times of the first rank count from
};

struct RankInput {
  const Trace& trace;
  std::string file = {};
  std::int64_t rank = 0;
};

// Throws Error: input for a trace that cannot be replayed (trace_check.h), usage for a step that the trace
// does not have.
void add_rank(RunAnalysis& run, const RankInput& input, const AnalysisOptions& options);

// Puts the ranks in order and computes what needs all of them: stragglers, waiting time apart from transfer
// time, the critical path, and the sizes of groups that no file lists. Such a group has as many members as
// ranks that use it.
void finish(RunAnalysis& run);

}  // namespace nadi::inline traces
