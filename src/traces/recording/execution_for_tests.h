// For tests: programs of a few ops whose record can be written down by hand, and records of runs that did
// what their program says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/graph/ops/point_to_point.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution.h"

namespace nadi::inline traces {

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
      step.kernels.push_back({.instruction = i, .op = OpId{op}, .start = entered, .end = now});
    }
  }
  step.end = now + kGapForTests;
  return step;
}

inline constexpr Nanoseconds kTransferForTests{20'000};  // how long communication takes in the background

// The same, but communication goes on in the background: it is posted kGapForTests after what came before,
// and what comes next does not wait for it. Each has the lowest lane that is free.
inline ExecutedStep execute_overlapped_for_tests(const Program& program, std::int64_t number,
                                                 Nanoseconds start) {
  ExecutedStep step = execute_for_tests(program, number, start);
  std::vector<Nanoseconds> lanes;  // by lane, less 1: when it is free
  Nanoseconds now = start;
  step.end = start;
  for (ExecutedKernel& call : step.kernels) {
    call.start = now + kGapForTests;
    const Section& section = program.section(program.instructions[call.instruction].section);
    if (is_communication(definition(program.graph_of(section).op(call.op).kind).op_class)) {
      std::size_t lane = 0;
      while (lane < lanes.size() && lanes[lane] > call.start) ++lane;
      if (lane == lanes.size()) lanes.emplace_back();
      call.stream = StreamId{static_cast<std::uint32_t>(lane + 1)};
      call.end = lanes[lane] = call.start + kTransferForTests;
      now = call.start;
    } else {
      call.end = now = call.start + kCallForTests;
    }
    step.end = std::max(step.end, call.end + kGapForTests);
  }
  return step;
}

// Receive x (4 x 8) from the stage before, multiply it by w, all-reduce the product over the data-parallel
// group, add x to itself, send that to the stage before: five ops in that order, one section of the backward
// phase, run once. For the second stage, ranks 2 and 3, of two stages of two data-parallel ranks.
inline Plan communicating_plan_for_tests() {
  return {.dp = 2, .pp = 2};
}
inline Program communicating_program_for_tests() {
  GraphBuilder b;
  const auto phase = b.in_phase(Phase::kBackward);
  const TensorId w = b.parameter("w", Shape{8, 8}, DType::kF32, Initializer::constant(1));
  const auto layer = b.in_layer("h");
  const PeerArgs peer{.group = "pp", .peer = 0, .tag = 0};
  const TensorId x = receive(b, Shape{4, 8}, DType::kF32, peer);
  const TensorId y = b.add_one({.kind = OpKind::kMatmul, .inputs = {x, w}});
  all_reduce(b, {.x = y, .group = {"dp", 2}});
  const TensorId z = b.add_one({.kind = OpKind::kAdd, .inputs = {x, x}});
  send(b, z, peer);
  Program program;
  program.graphs.push_back(b.take());
  program.sections.push_back({.name = "backward", .graph = 0, .first_op = 0, .end_op = 5});
  program.instructions.push_back({.section = SectionId{0}});
  program.slots = {1};
  return program;
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

}  // namespace nadi::inline traces
