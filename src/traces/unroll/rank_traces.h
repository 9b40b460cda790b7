// Traces of the ranks of a plan as Chakra files: <prefix>.<rank>.et for each rank, and the process groups
// that they name in <prefix>.groups.json ({"1": [0, 1], ...}).
//
//   const RankTraceReport report = write_step_traces(config, {.kind = StepKind::kTrain}, plan, "out/step",
//   {});
//
//   std::vector<const Program*> stages = ...;                   // build_step() of each pipeline stage
//   const RankTraceReport same = write_rank_traces(plan, stages, "out/step", {});
//
// The nodes are those of StepTracer (step_trace.h). Ranks of a stage run the same program, so its nodes are
// encoded once and the files put together from them (stage_encoding.h); two threads write. The bytes depend
// on nothing but the arguments.
//
// Files appear only when all of them are on the disk, each by renaming. Nothing is written, or removed again,
// when one of them exists and may not be overwritten, when the disk is full, or when `progress` throws. A
// program or machine that stops in between leaves every file whole or as it was before; but when it stops
// while the files are given their names, some have them and others not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/parallel/plan.h"
#include "nadi/unroll/stage_encoding.h"
#include "nadi/unroll/step_trace.h"

namespace nadi::inline describe {
struct ModelConfig;
struct StepRequest;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

struct RankTraceOptions {
  TraceFlavor flavor = TraceFlavor::kChakra;
  // With kFirstMicroBatch, a node of another micro-batch has the tensors of its namesake in micro-batch 0.
  TensorListing tensors = TensorListing::kFirstMicroBatch;
  Overwrite overwrite = Overwrite::kRefuse;
  std::vector<Rank> ranks = {};  // which to write; empty means all
  // Attributes (string) of each file's metadata. Behind them come `tensors` (string, which nodes list theirs)
  // and `rank` (int64).
  std::vector<std::pair<std::string, std::string>> metadata = {};
  // Called now and then, also within a large file, with the number of nodes written and of all files, by the
  // calling thread; may throw to stop.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  // Error (environment) with an estimate before anything is written where the files would take more.
  struct Limit {
    Bytes most;
    std::string reason = {};  // "2 GB are free on the disk of out"
  };
  std::optional<Limit> limit = {};
};

// Nodes of the trace of a rank that runs the program.
std::int64_t trace_nodes(const Program& program);

// About as many bytes as the trace of a rank takes: exactly those of a small one, and of a larger one what
// its first nodes let expect of the others.
Bytes estimate_rank_trace(const Plan& plan, const Program& program, Rank rank,
                          const RankTraceOptions& options);

struct RankTraceReport {
  std::int64_t files = 0;  // traces
  // Summed over the traces.
  std::int64_t nodes = 0;
  Bytes bytes;
  std::optional<Flops> flops = Flops{};  // nothing when the sum over all ranks exceeds 2^63 - 1
  std::int64_t data_edges = 0;
  std::int64_t control_edges = 0;
  std::filesystem::path groups_file;  // empty when there are no groups
};

// programs[i] is that of pipeline stage i, or null when no rank of it is written. Throws Error: usage for an
// existing file or a rank outside of the plan, environment when a file cannot be written or all of them are
// beyond the limit, infeasible for what
// the flavor cannot express.
RankTraceReport write_rank_traces(const Plan& plan, std::span<const Program* const> programs,
                                  const std::filesystem::path& prefix, const RankTraceOptions& options);

// The same of a step: builds the programs of the stages that `options.ranks` are in.
RankTraceReport write_step_traces(const ModelConfig& config, const StepRequest& request, const Plan& plan,
                                  const std::filesystem::path& prefix, const RankTraceOptions& options);

// Reference: one rank's file, node by node. The oracle for the above, which it serves where a stage has only
// one rank to write, or more nodes than can be held in memory. `at_each_node` hears how many nodes there are
// so far, and may throw to stop.
NodeCounts write_rank_trace(const Plan& plan, const Program& program, const ProcessGroups& groups, Rank rank,
                            const RankTraceOptions& options, const ByteSink& sink,
                            const std::function<void(std::int64_t)>& at_each_node = {});

}  // namespace nadi::inline traces
