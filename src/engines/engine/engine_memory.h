// What an engine will take from its device for a program, to the byte, without a device: `nadi show` prints
// it.
//
//   const EngineMemory memory = engine_memory(program, plan_kernels(DeviceKind::kCpu, program));
#pragma once

#include "nadi/base/units.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines {

struct EngineMemory {
  Bytes variables;  // as their shapes say
  Bytes padding;    // what variables are rounded up to, and buckets padded with
  Bytes inputs;     // both sets, of all micro-batches; and constants
  Bytes values;     // activations: arena, slots, rings
  Bytes workspace;  // of kernels
  Bytes staging;    // of messages

  Bytes total() const { return variables + padding + inputs + values + workspace + staging; }
};

EngineMemory engine_memory(const Program& program, const KernelPlan& kernels);

}  // namespace nadi::inline engines
