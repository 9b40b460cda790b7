// The trace of a step program that has not run: every op of every instruction is a node, in order, with its
// work and sizes but no times.
//
//   StepTracer tracer(program, {.plan = &plan});
//   TraceNode node;
//   while (tracer.next(node)) {
//     add_rank_attributes(node, tracer.binding(), plan, groups, rank);  // rank_attributes.h
//     writer.write(node);
//   }
//
// A program without communication needs neither a plan nor the binding.
//
// Nodes, their order and their dependencies are those of the walk over the program (parallel/step_walk.h):
// order dependencies are control dependencies. TraceFlavor::kAstraSim writes all of them as data
// dependencies, and lets each collective wait for the one before it, whatever its group, and for all messages
// that are sent before it. Node ids count from 0 in the order of the program.
//
// Attributes besides those of common_attributes.h: `op` (kind), `layer`, `phase` (string), `section` (string;
// left out where it would repeat the phase), `micro_batch` (int64; the number of the token in decode
// sections), `reduce_op` (string, of all-reduce). Tensors are written as JSON: values [[name, bytes], ...],
// shapes [[4, 512, 768], ...], types ["f32", ...].
//
// `comm_size` of a collective is the size of the rank's own input: the whole tensor of an all-reduce,
// broadcast, reduce-scatter or all-to-all, the rank's own part of an all-gather. That is how simulators of
// Chakra traces take it. `comm_tag` tells apart all messages of a step between two ranks in one direction.
#pragma once

#include <memory>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"
#include "nadi/unroll/rank_attributes.h"

namespace nadi::inline describe {
struct Plan;
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

enum class TraceFlavor : std::uint8_t {
  kChakra,  // as the schema means it
  // For that simulator: no control dependencies, which one of its feeders ignores, no REDUCE, one collective
  // or message of a rank at a time, and no start with a computation that takes no time.
  kAstraSim,
};

// Which nodes list their tensors with names, sizes, shapes and types. The lists are the same for every
// micro-batch and most of a file's bytes.
enum class TensorListing : std::uint8_t { kFirstMicroBatch, kAll, kNone };
std::string_view to_string(TensorListing listing);  // "first_micro_batch", "all", "none"

struct StepTraceOptions {
  const Plan* plan = nullptr;  // needed where the program communicates
  TraceFlavor flavor = TraceFlavor::kChakra;
  TensorListing tensors = TensorListing::kAll;
};

class StepTracer {
 public:
  // Program and plan must outlive the tracer. Throws Error (infeasible) where the tags of messages do not fit
  // 32 bits.
  explicit StepTracer(const Program& program, const StepTraceOptions& options = {});
  ~StepTracer();

  // Fills `node` with the next node, whose texts are valid until the next call; false at the end. Throws
  // Error (infeasible) at an op that the flavor has no node for.
  bool next(TraceNode& node);

  // What is still to be added to the latest node, for the rank whose trace it is to be.
  const RankBinding& binding() const;

  // After the end: starts the program once more, as the step that follows. Ids count on, and what it reads of
  // variables comes from the steps before.
  void again();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// All of it in memory; of a program without communication.
Trace trace_step(const Program& program);

}  // namespace nadi::inline traces
