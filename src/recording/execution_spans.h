// A recorded step as nested spans, for timelines: the step holds phases, a phase holds layers within layers,
// and the innermost layer holds kernel calls.
//
//   ProfilerStep > forward > transformer > transformer.h.3 > transformer.h.3.attn > matmul
//
// A phase is a run of calls of one instruction and phase; a layer a run of calls within it whose layers start
// with the same path. A number belongs to the name before it: "transformer.h" alone is no layer. Spans reach
// from the start of their first call to the end of their last, so that two spans of one thread lie one in the
// other or apart. Phases and layers are those of thread 0; what other threads do beside it is calls alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/recording/execution.h"

namespace nadi {

struct ExecutionSpan {
  enum class Kind : std::uint8_t { kStep, kPhase, kLayer, kCall };
  Kind kind = Kind::kCall;
  std::string_view name = {};  // phase, path of the layer, or kind of op; borrowed from the program
  Nanoseconds start = {};
  Nanoseconds end = {};
  std::uint32_t thread = 0;
  std::size_t call = 0;  // index into ExecutedStep::ops: the call, or the first within; 0 of a step
};

// Thread by thread from 0 on, each in the order of its starts with outer spans before inner ones. The step
// itself is a span of thread 0. Calls of a thread that overlap, or lie outside of the step, are a bug of the
// engine and stop the program.
std::vector<ExecutionSpan> spans_of(const Program& program, const ExecutedStep& step);

}  // namespace nadi
