// The communication of a run in figures: what a call carried, how fast it was, and how much of it was not
// hidden behind computation.
//
//   const CommunicationSummary summary = summarize_communication(program, steps);
//   if (summary.gradients.exposed * 10 > summary.gradients.under_way * 3) report(summary);   // more than 30%
//
// Sizes and bandwidths are those of nccl-tests, so that figures can be laid side by side. The size is that of
// the whole tensor: what is reduced, sent or split, and of an all-gather what it puts together. Algorithm
// bandwidth is size over time. Bus bandwidth is that times what each link carries of it at least, so that it
// can be held against the speed of the links: 2 (n - 1) / n for an all-reduce among n, (n - 1) / n for
// all-gather, reduce-scatter and all-to-all, 1 for the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/op.h"
#include "nadi/parallel/plan.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

struct CommunicationWork {
  GroupKind group = GroupKind::kTensor;
  std::int64_t members = 2;  // that take part: of a message the two ends
  DType dtype = DType::kF32;
  std::int64_t input_elements = 0;  // of this rank; of a message both are what it carries
  std::int64_t output_elements = 0;
  Bytes bytes = {};  // as nccl-tests counts

  double bus_factor = 1;  // bus bandwidth over algorithm bandwidth
};
// Nothing when the call was of something else.
std::optional<CommunicationWork> communication_of(const CallOrigin& origin);

// In 10^9 bytes per second; nothing where no time has passed.
std::optional<double> algorithm_gb_per_second(Bytes bytes, Nanoseconds time);

struct CommunicationFigures {
  std::int64_t calls = 0;
  Bytes bytes;
  Bytes bus_bytes;        // each times its bus factor
  Nanoseconds time;       // from start to end of each call, summed: calls that overlap count twice
  Nanoseconds under_way;  // while at least one call was
  Nanoseconds exposed;    // of that, while nothing was computed

  CommunicationFigures& operator+=(const CommunicationFigures& other);
};

struct CommunicationSummary {
  struct Row {
    GroupKind group;
    OpKind kind;
    Phase phase;
    CommunicationFigures figures;
  };
  std::vector<Row> rows;           // by group, kind and phase, in the order of their enumerations
  CommunicationFigures gradients;  // reductions over data-parallel ranks in the backward phase
  CommunicationFigures total;
};
// Over several steps, summed.
CommunicationSummary summarize_communication(const Program& program, std::span<const ExecutedStep> steps);

}  // namespace nadi::inline traces
