// Where the time of a run went, as text: a table by kind of op, and one by layer and op, folded as flame
// graphs write it ("transformer.h.3.attn;matmul"). Where the program communicates, a third table
// shows communication by process group, op and phase: bytes, bandwidth, and the exposed part
// (execution_communication.h).
//
//   write_atomically("run_trace_stacks.txt", op_stacks(program, steps), Overwrite::kAllow);
//
// Each row of the first two has its times by name, so that `grep cuda_time_total` finds the rows:
//
//   matmul       48 cpu_time_total=8123.400              cuda_time_total=0.000 ...
//
// Rows are sorted by total time, then by name; those of communication by group, op and phase. FLOP/s and
// bytes/s are the work that the graph says (cost_of()) over the measured time. A kernel of several ops is one
// call with the work of all of them, named by all ("matmul+gelu"), in the layer of the first. The same record
// gives the same text.
#pragma once

#include <span>
#include <string>

#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

// Times are of the processor or of a GPU, as the steps say; all of them of the same.
std::string op_stacks(const Program& program, std::span<const ExecutedStep> steps);

}  // namespace nadi::inline traces
