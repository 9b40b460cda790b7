// For tests: programs of a few ops whose record can be written down by hand, and records of runs that did
// what their program says.
#pragma once

#include <cstdint>

#include "nadi/graph/builder.h"
#include "nadi/parallel/program.h"
#include "nadi/trace/execution.h"

namespace nadi {

inline constexpr Nanoseconds kCallForTests{1500};  // how long a call takes
inline constexpr Nanoseconds kGapForTests{250};    // what passes before it, and after the last

// Every kernel of the program in its order. The step starts at `start` and each call kGapForTests after the
// one before has ended.
inline ExecutedStep execute_for_tests(const Program& program, std::int64_t number, Nanoseconds start) {
  ExecutedStep step{.step = number, .start = start};
  Nanoseconds now = start;
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Section& section = program.section(program.instructions[i].section);
    for (std::uint32_t op = section.first_op; op < section.end_op; ++op) {
      if (definition(program.graph_of(section).ops()[op].kind).op_class == OpClass::kView) continue;
      const Nanoseconds entered = now + kGapForTests;
      now = entered + kCallForTests;
      step.ops.push_back({.instruction = i, .op = OpId{op}, .start = entered, .end = now});
    }
  }
  step.end = now + kGapForTests;
  return step;
}

// Two layers of one block and one outside of it: a product (4 x 8 by 8 x 8) and an addition in `h.0.attn`, an
// addition in `h.0.mlp`, the same in `head`, in that order; one section, run once.
inline Program program_for_tests() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4, 8}, DType::kF32);
  const TensorId w = b.parameter("w", Shape{8, 8}, DType::kF32, Initializer::constant(1));
  TensorId y = x;
  {
    const auto block = b.in_layer("model.h.0");
    {
      const auto layer = b.in_layer("attn");
      y = b.add_one({.kind = OpKind::kMatmul, .inputs = {x, w}});
      y = b.add_one({.kind = OpKind::kAdd, .inputs = {y, x}});
    }
    const auto layer = b.in_layer("mlp");
    y = b.add_one({.kind = OpKind::kAdd, .inputs = {y, y}});
  }
  {
    const auto layer = b.in_layer("head");
    y = b.add_one({.kind = OpKind::kAdd, .inputs = {y, x}});
  }
  Program program;
  program.graphs.push_back(b.take());
  program.sections.push_back({.name = "forward", .graph = 0, .first_op = 0, .end_op = 4});
  program.instructions.push_back({.section = SectionId{0}});
  return program;
}

}  // namespace nadi
