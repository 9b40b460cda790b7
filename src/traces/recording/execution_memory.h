// How many bytes of a program's values are alive at each kernel call, for timelines of memory.
//
//   const ExecutionMemory memory(program);
//   memory.alive(step, kernel);          // never more than memory.reserved()
//
// Values in the arena are alive as the memory plan of their graph says. Other values count from the first
// instruction that touches them to the last: values with a place outside of the arena, in the slot of
// their micro-batch or in a ring for what is received (program_memory.h), and those in the arena that wait
// there for a later section while a section of another graph runs.
#pragma once

#include <vector>

#include "nadi/base/units.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

class ExecutionMemory {
 public:
  // The program must outlive this.
  explicit ExecutionMemory(const Program& program);

  // While the kernel runs: of several ops, as if they ran one after the other, the most.
  Bytes alive(const ExecutedStep& step, const ExecutedKernel& kernel) const;
  Bytes reserved() const { return memory_.total; }

 private:
  const Program& program_;
  ProgramMemory memory_;
  std::vector<Bytes> besides_;  // by instruction: alive besides what the plan of its graph counts
};

}  // namespace nadi::inline traces
