// A recorded step as nested spans, for timelines: the step holds phases, a phase holds layers within layers,
// and the innermost layer holds kernels.
//
//   ProfilerStep > forward > transformer > transformer.h.3 > transformer.h.3.attn > matmul
//
// A phase is a run of kernels of one instruction and phase; a layer a run of kernels within it whose layers
// start with the same path; of a kernel of several ops the first counts. A number belongs to the name before
// it: "transformer.h" alone is no layer. Spans reach from the start of their first kernel to the end of their
// last, so that two spans of one stream lie one in the other or apart. Phases and layers are those of the
// stream that computes; what other streams do beside it is kernels alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

struct ExecutionSpan {
  enum class Kind : std::uint8_t { kStep, kPhase, kLayer, kCall };
  Kind kind = Kind::kCall;
  std::string_view name = {};  // phase, path of the layer, or kind of the first op; of the program
  Nanoseconds start = {};
  Nanoseconds end = {};
  StreamId stream = kComputeStream;
  std::size_t call = 0;  // index into ExecutedStep::kernels: the kernel, or the first within; 0 of a step
};

// The stream of the step's first computation; kComputeStream where nothing was computed.
StreamId computing_stream(const Program& program, const ExecutedStep& step);

// Stream by stream, the one that computes first and then by number, each in the order of its starts with
// outer spans before inner ones. The step itself is a span of the stream that computes. Kernels of a stream
// that overlap, or lie outside of the step, are a bug of the engine and stop the program.
std::vector<ExecutionSpan> spans_of(const Program& program, const ExecutedStep& step);

}  // namespace nadi::inline traces
