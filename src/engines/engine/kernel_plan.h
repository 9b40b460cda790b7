// Which kernels a device runs for a program: each computes one op, or several that follow each other, and
// says how much workspace it needs. Decided when a program is loaded, before its memory is planned: values
// that never leave their kernel have no memory.
//
//   const KernelPlan kernels = plan_kernels(DeviceKind::kCpu, program);    // make_engine.h
//   const ProgramMemory memory = plan_program_memory(program, memory_options(program, kernels));
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/program_memory.h"

namespace nadi::inline engines {

// Ops [first_op, end_op) of a graph, those of them that are no views.
struct PlannedKernel {
  std::uint32_t first_op = 0;
  std::uint32_t end_op = 0;
  Bytes workspace = {};
  bool communicates = false;  // with other ranks
};

struct KernelPlan {
  std::int64_t alignment = kArenaAlignment;
  std::vector<std::vector<PlannedKernel>> graphs;  // as in the program; in the order of their ops
  // By graph and tensor: bytes of values whose rows are padded (0 means as the shape says); empty means none.
  std::vector<std::vector<std::int64_t>> padded_sizes = {};
  // By graph: values that are columns of one matrix; empty means none.
  std::vector<std::vector<SharedRows>> shared_rows = {};
  // Variables with memory behind them that belongs to them alone and starts as zeros, by name.
  std::map<std::string, Bytes> spare = {};
  Bytes workspace = {};  // one for all kernels of a program: the largest
  Bytes staging = {};    // what messages are packed into
  // Whether the inputs of a section that is run again and again by itself are brought to one place, so that
  // it finds them there each time.
  bool gathers_inputs = false;
};

MemoryOptions memory_options(const Program& program, const KernelPlan& kernels);

// Ranges of ops of one graph that one call can compute, since they are the same but for their variables, and
// of these each begins where that of the op before ends: updates of the parameters of a bucket, say. Only of
// the kinds asked for, at least two ops, within sections; in order.
struct OpRun {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
std::vector<OpRun> neighbouring_ops(const Program& program, std::size_t graph, std::span<const OpKind> kinds);

}  // namespace nadi::inline engines
