// The record that an engine keeps at kernel entry of what ran, and the trace made from it.
//
//   ExecutedStep step{.step = 12};
//   engine.run(..., &step);                                     // appends to step.ops
//   const Trace trace = trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = rank}).trace;
//   if (auto difference = compare_with_dry_trace(trace, trace_step(program))) report(*difference);
//
// The trace holds a node for each recorded kernel call, in the order of the record, whatever the program
// says: a kernel that was left out, called twice or called too early is seen in it. From the program come
// only the name, attributes and dependencies of an op that was recorded, which are those of StepTracer
// (step_trace.h); behind them are added `step` (int64) and, of communication, `algorithm_gb_per_second`
// (double; as nccl-tests counts it, see execution_communication.h). Ids count from 0 over all steps.
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
#include "nadi/graph/tensor.h"
#include "nadi/parallel/plan.h"
#include "nadi/trace/trace.h"
#include "nadi/unroll/step_trace.h"

namespace nadi {

class Graph;
struct Instruction;
struct Op;
struct Program;
struct Section;

// One kernel call. Times are those of the steady clock.
struct ExecutedOp {
  std::uint32_t instruction = 0;  // index into Program::instructions
  OpId op = kNoOp;                // of the graph of that instruction's section; never a view
  Nanoseconds start = {};
  Nanoseconds end = {};
  // 0 is the thread that runs the program. What overlaps with it, communication for instance, has another
  // number, and lasts from when it was started until it was done: calls of one thread come one after the
  // other.
  std::uint32_t thread = 0;
};

// One run of a program.
struct ExecutedStep {
  std::int64_t step = 0;  // number of the training step
  Nanoseconds start = {};
  Nanoseconds end = {};
  std::vector<ExecutedOp> ops = {};  // in the order in which kernels were entered
};

// What a call was of. References are into the program.
struct CallOrigin {
  const Instruction& instruction;
  const Section& section;
  const Graph& graph;
  const Op& op;
};
// A record that names an op which its instruction does not have is a bug of the engine and stops the program.
CallOrigin origin_of(const Program& program, const ExecutedOp& call);

// What a call did, as its graph counts it: of communication, `bytes` are those that it carries.
struct CallWork {
  Flops flops;
  Bytes bytes;
};
CallWork work_of(const CallOrigin& origin);

struct ExecutionTraceOptions {
  const Plan* plan = nullptr;  // needed where the program communicates
  Rank rank = {};              // in the plan
  TraceFlavor flavor = TraceFlavor::kChakra;
  TensorListing tensors = TensorListing::kAll;
  // In which some stage of the plan has collectives: this numbers the groups. Empty: as the program has them.
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

}  // namespace nadi
