// Where the time of a run went, as text: a table by kind of op, and one by layer and op, folded as flame
// graphs write it ("transformer.h.3.attn;matmul"). Where the program communicates, a third table
// shows communication by process group, op and phase: bytes, bandwidth, and the exposed part
// (execution_communication.h).
//
//   write_atomically("run_trace_stacks.txt", op_stacks(program, steps), Overwrite::kAllow);
//
// Rows are sorted by total time, then by name; those of communication by group, op and phase. FLOP/s and
// bytes/s are the work that the graph says (cost_of()) over the measured time. The same record gives the same
// text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nadi/recording/execution.h"

namespace nadi {

// Whose time the record holds.
enum class RecordedTime : std::uint8_t {
  kCpu,   // kernels ran on the processor
  kCuda,  // kernels ran on a GPU and were timed there
};

std::string op_stacks(const Program& program, std::span<const ExecutedStep> steps,
                      RecordedTime time = RecordedTime::kCpu);

}  // namespace nadi
