// The trace of what ran, made from its record (executed_step.h).
//
//   ExecutedStep step{.step = 12};
//   engine.run(..., &step);
//   const Trace trace = trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = rank}).trace;
//   if (auto difference = compare_with_dry_trace(trace, trace_step(program))) report(*difference);
//
// The trace holds a node for each op of each recorded kernel, in the order of the record, whatever the
// program says: a kernel that was left out, called twice or called too early is seen in it. From the program
// come only the name, attributes and dependencies of an op that was recorded, which are those of StepTracer
// (step_trace.h); behind them are added `step` (int64), where it ran (`thread` on the host, `stream` and
// `device` on others, all int64), of communication `algorithm_gb_per_second` (double; as nccl-tests counts
// it, see execution_communication.h), and of an op that was fused into the kernel of an earlier one
// `fused_into` (int64), the id of that node. The first node of a step says what the processors did during it
// (trace/step_processors.h), where the record does. The time of a kernel is that of its first op's node; the
// others begin at its end and take none. Ids count from 0 over all steps.
//
// Communication lasts from its start until its completion, and several operations may overlap. An operation
// that follows another one in the program and was started before that one was complete did not wait for it:
// it depends on what the other one depends on, so that both start in their order.
//
// A step waits for the step before it only through its data: its reads of a parameter wait for the update,
// its collectives for those of the step before.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/parallel/plan.h"
#include "nadi/recording/executed_step.h"
#include "nadi/trace/trace.h"
#include "nadi/unroll/step_trace.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

struct ExecutionTraceOptions {
  const Plan* plan = nullptr;  // needed where the program communicates
  Rank rank = {};              // in the plan
  TraceFlavor flavor = TraceFlavor::kChakra;
  TensorListing tensors = TensorListing::kAll;
  // In which some stage of the plan has collectives: this numbers the groups. Empty means as the program has them.
  std::set<GroupKind> group_kinds = {};
  Nanoseconds clock_offset = {};  // the record's clock minus the one that the trace is to show
};

struct ExecutionTrace {
  Trace trace;
  // Dependencies of recorded ops on ops that were not recorded before them, and so were left out. 0 unless
  // the run did something else than its program.
  std::uint64_t dropped_dependencies = 0;
};

// A call of a view, or one that ends before it starts, is a bug as above. Throws Error (infeasible) as
// StepTracer does.
ExecutionTrace trace_execution(const Program& program, std::span<const ExecutedStep> steps,
                               const ExecutionTraceOptions& options = {});

// The first difference between the trace of one executed step and the dry trace of its program, in words;
// nothing when they agree in all but times, the attributes that a run adds, and communication that did not
// wait for other communication (see above).
std::optional<std::string> compare_with_dry_trace(const Trace& executed, const Trace& dry);

}  // namespace nadi::inline traces
