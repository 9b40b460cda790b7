// A step as Chakra traces, without running it: what `nadi trace` is asked.
//
//   const TraceAnswer answer = trace({.step = {.model = "gpt2", .plan = {.dp = 8}}, .files = {.prefix = "out/gpt2"}});
//   answer.written.nodes, answer.question.files.file_of(0)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nadi/step/step_question.h"
#include "nadi/tracing/trace_files.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi::inline ask {

struct TraceQuestion {
  StepQuestion step = {};
  TraceFiles files = {};
  std::vector<Rank> ranks = {};  // whose traces are written; empty means all
  TraceFlavor flavor = TraceFlavor::kChakra;
  TensorListing tensors = TensorListing::kFirstMicroBatch;
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  // nodes; may throw to stop
};

// Every default decided.
struct ResolvedTrace {
  TraceQuestion question;
  ResolvedStep step;
};

struct TraceAnswer {
  TraceQuestion question;
  ResolvedStep step;
  std::vector<Rank> ranks;
  RankTraceReport written;
};

// Error (usage) as resolve_step() and check_trace_files() throw.
ResolvedTrace resolve(const TraceQuestion& question);
// Error as write_step_traces() throws.
TraceAnswer trace(ResolvedTrace asked);
TraceAnswer trace(const TraceQuestion& question);

}  // namespace nadi::inline ask
