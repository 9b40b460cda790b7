// One collective, or one message, as Chakra traces: what `nadi trace collective` is asked.
//
//   const CollectiveAnswer answer = trace_collective({.kind = "all-reduce", .size = 1_MiB, .ranks = 8,
//                                                     .files = {.prefix = "out/all_reduce"}});
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nadi/base/units.h"
#include "nadi/chakra/collective_traces.h"
#include "nadi/tracing/trace_files.h"

namespace nadi::inline ask {

struct CollectiveQuestion {
  std::string kind = {};       // a name of collective_kinds()
  std::string reduction = {};  // a name of reductions(); else the first of them, for kinds that reduce
  Bytes size = {};             // of each rank's contribution
  std::int64_t ranks = 2;
  TraceFiles files = {};
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  // files; may throw to stop
};

struct CollectiveAnswer {
  CollectiveQuestion question;
  CollectiveTraces collective;
  CollectiveTraceReport written;
};

// Error (usage) for names that nobody knows. Said before the rest.
void check_collective(const CollectiveQuestion& question);

// The same, and as check_trace_files() throws; (environment) where the files do not fit.
CollectiveAnswer trace_collective(const CollectiveQuestion& question);

}  // namespace nadi::inline ask
