#include "nadi/engine/engine_memory.h"

#include "nadi/engine/bound_program.h"
#include "nadi/engine/variable_store.h"

namespace nadi::inline engines {

EngineMemory engine_memory(const Program& program, const KernelPlan& kernels) {
  VariableStore store;
  store.add(program, kernels.spare);
  EngineMemory memory;
  for (const Variable& variable : store.all())
    if (!variable.tensor.shares_memory) memory.variables += variable.tensor.size();
  memory.padding = store.size(kernels.alignment) - memory.variables;
  const BoundProgram bound(program, kernels);
  memory.inputs = bound.own();
  memory.values = bound.arena();
  memory.workspace = kernels.workspace;
  memory.staging = kernels.staging;
  return memory;
}

}  // namespace nadi::inline engines
