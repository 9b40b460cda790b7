// The three files that describe what a rank ran: Kineto's JSON (kineto_writer.h), Chakra with times
// (execution.h) and a table of where the time went (op_stacks.h).
//
//   const RunTraceFiles files{.kineto = "run_kineto.json", .chakra = "run.0.et", .stacks = "run_stacks.txt"};
//   refuse_existing(files);                          // before the work, where nothing may be overwritten
//   ...
//   write_run_traces(files, program, steps, {.name = "run"});
//
// Each of several ranks writes its own files, on the clock of rank 0; kineto_merge.h merges the Kineto files.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

struct ExecutedStep;

struct RunTraceFiles {
  std::filesystem::path kineto, chakra, stacks;
  // On rank 0 of several, else empty: the process groups that their Chakra traces name, as simulators want
  // them (rank_traces.h), and a second name of its own Chakra trace, which is that of a run on one rank.
  std::filesystem::path groups = {}, first_chakra = {};

  // Those that are written, in the order in which they appear.
  std::vector<std::filesystem::path> all() const;
};

// Error (usage) when one of the files exists.
void refuse_existing(const RunTraceFiles& files);

// What the wall clock of this machine says minus what its steady clock says, now.
Nanoseconds clock_origin_now();

struct RunTraceOptions {
  std::string name = {};  // of the trace, in the Kineto file
  Overwrite overwrite = Overwrite::kRefuse;
  // Attributes (string) of the Chakra file's metadata: what ran, with which settings. Of several ranks,
  // `rank` (int64) comes behind them.
  std::vector<std::pair<std::string, std::string>> metadata = {};

  const Plan* plan = nullptr;  // needed where the program communicates
  Rank rank = {};              // in the plan
  // In which some stage of the plan has collectives: this numbers the groups. Empty means as the program has them,
  // which is right where there is one stage.
  std::set<GroupKind> group_kinds = {};
  // The steady clock of this rank minus that of rank 0: all times are written on the latter.
  Nanoseconds clock_offset = {};
  // clock_origin_now() of rank 0, the same for all ranks; nothing means asked here.
  std::optional<Nanoseconds> clock_origin = {};
};

// All files are written before the first one appears.
void write_run_traces(const RunTraceFiles& files, const Program& program, std::span<const ExecutedStep> steps,
                      const RunTraceOptions& options);

}  // namespace nadi::inline traces
