// The trace of a step program that has not run: every op of every instruction is a node, in order, with its
// work and sizes but no times.
//
//   StepTracer tracer(program);
//   TraceNode node;
//   while (tracer.next(node)) writer.write(node);
//
// Data dependencies say which node made what a node reads, through variables (the KV cache, updated
// parameters) as well as values. Control dependencies say what must not be overtaken: a node that overwrites
// a variable waits for those that read it or wrote it before. Views are no nodes: they cost nothing and move
// nothing, and dependencies go through them. Node ids count from 0 in the order of the program.
//
// Attributes besides those of common_attributes.h: `op` (kind), `layer`, `phase`, `section` (string),
// `micro_batch` (int64; the number of the token in decode sections), `block` (int64, in transformer blocks
// only). Tensors are written as JSON: values [[name, bytes], ...], shapes [[4, 512, 768], ...], types ["f32",
// ...].
#pragma once

#include <memory>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"

namespace nadi {

struct Program;

class StepTracer {
 public:
  // The program must outlive the tracer.
  explicit StepTracer(const Program& program);
  ~StepTracer();

  // Fills `node` with the next node, whose texts are valid until the tracer goes; false at the end.
  bool next(TraceNode& node);

 private:
  class State;
  std::unique_ptr<State> state_;
};

// All of it in memory.
Trace trace_step(const Program& program);

}  // namespace nadi
