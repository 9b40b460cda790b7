// Records steps of a run as PyTorch's profiler schedules them: the first `wait` steps are not recorded,
// `warmup` steps are recorded and discarded, `active` steps are kept. Then the traces are written and
// recording ends.
//
//   RunRecorder recorder({.folder = "outputs", .name = "gpt2_1gpu"});
//   for (...) {
//     engine.run(loaded, {.record = recorder.begin_step(step, program)});  // nullptr: it is not recorded
//     if (recorder.end_step()) recorder.write();
//   }
//
// Where only some ranks are recorded, the other ranks have a recorder, too, which counts the steps.
//
// Three files: <name>_trace_kineto.json (kineto_writer.h), <name>_trace.et (Chakra, the step graph's nodes
// with their times), <name>_trace_stacks.txt (op_stacks.h). Of several ranks each writes its own, with its
// number in their names (<name>_trace.3.et). Rank 0 writes its Chakra trace as <name>_trace.et, too, and the
// process groups that all of them name as <name>_trace.groups.json; and when all have written, it makes
// <name>_trace_kineto.json of all:
//
//   recorder.write();
//   world.barrier(kWorld);
//   if (rank == Rank{0}) recorder.merge();
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/run_traces.h"

namespace nadi::inline runs {

struct RecorderOptions {
  std::filesystem::path folder = {};
  std::string name = {};
  std::int64_t wait = 1;
  std::int64_t warmup = 1;
  std::int64_t active = 1;
  Overwrite overwrite = Overwrite::kRefuse;
  // Attributes (string) of the Chakra file's metadata: what ran, with which settings.
  std::vector<std::pair<std::string, std::string>> metadata = {};

  std::set<std::int64_t> recorded_ranks = {};  // of several; empty means all of them

  const Plan* plan = nullptr;  // of a run with several ranks; must outlive the recorder
  Rank rank = {};
  // See RunTraceOptions (run_traces.h).
  std::set<GroupKind> group_kinds = {};
  Nanoseconds clock_offset = {};
  std::optional<Nanoseconds> clock_origin = {};
};

// The paths that a rank of a run with this name writes.
RunTraceFiles run_trace_files(const std::filesystem::path& folder, const std::string& name, Rank rank = {},
                              std::int64_t ranks = 1);
// And that of the Kineto file of several ranks.
std::filesystem::path merged_kineto_file(const std::filesystem::path& folder, const std::string& name);

class RunRecorder {
 public:
  // Error (usage) when a file of this rank is there, or of rank 0 the merged one, and may not be overwritten:
  // asked before any work is done.
  explicit RunRecorder(RecorderOptions options);

  // In place of an attribute of the metadata that has this name; before write().
  void set_metadata(std::string_view name, std::string value);

  // What the engine is to record into, or nullptr. The program, which is that of this rank, must outlive
  // this; all steps that are kept run the same.
  ExecutedStep* begin_step(std::int64_t step, const Program& program);
  // True after the last active step: time to write.
  bool end_step();
  void write() const;
  // On rank 0, when all have written: returns the Kineto file of all ranks, which of one rank is its own.
  // Errors are those of merge_kineto_files().
  std::filesystem::path merge() const;

  // Whether this rank is one of those that are recorded.
  bool records() const { return is_recorded(to_number(options_.rank)); }
  // Active steps so far, on any of them.
  std::int64_t recorded() const {
    return std::clamp<std::int64_t>(seen_ - options_.wait - options_.warmup, 0, options_.active);
  }
  bool finished() const { return seen_ >= options_.wait + options_.warmup + options_.active; }
  RunTraceFiles files() const {
    return run_trace_files(options_.folder, options_.name, options_.rank, ranks());
  }
  std::int64_t ranks() const { return options_.plan == nullptr ? 1 : options_.plan->world_size(); }

 private:
  bool is_recorded(std::int64_t rank) const {
    return options_.recorded_ranks.empty() || options_.recorded_ranks.contains(rank);
  }

  RecorderOptions options_;
  const Program* program_ = nullptr;  // of the latest recorded step
  std::int64_t seen_ = 0;
  ExecutedStep current_;
  std::vector<ExecutedStep> kept_;
};

}  // namespace nadi::inline runs
