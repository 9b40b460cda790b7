// Reads the traces of a run, one rank after the other, and hands each to its taker.
//
//   read_run(files, {.lenient = true}, [&](const ReadRank& rank) { use(rank.trace, rank.rank); });
//
// The content of a file tells its kind: a Chakra trace, or a profile (Kineto) of PyTorch or of a run of Nadi,
// which is converted in memory (convert/). Host traces of PyTorch are paired with the profiles in their
// order; without profiles they are read alone and have no times. A profile may hold several ranks.
//
// The rank of a trace is what its metadata says (`rank`), else the number in its name (run.3.et), else its
// place in the list. The sizes of groups come from the profiles, or from <prefix>.groups.json beside
// <prefix>.<rank>.et. One trace is in memory at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/overlap.h"
#include "nadi/base/memory_limit.h"
#include "nadi/input/read_progress.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

struct RunReadingOptions {
  MemoryLimit memory = {};  // for each file
  bool lenient = false;     // skip damaged records
  bool strict = false;  // refuse dependencies on nodes that are not in the file, which are dropped otherwise
  ReportBytes progress = {};                               // bytes of the files that were read
  std::function<void(const std::string& text)> note = {};  // told what was left out
};

struct ReadRank {
  const Trace& trace;  // until the taker returns
  std::string file = {};
  std::int64_t rank = 0;
  const GroupSizes& groups;  // as far as they are known by now
};

// Throws Error: usage for two traces of one rank and for files that do not go together, input for a file that
// cannot be read.
void read_run(const std::vector<std::filesystem::path>& files, const RunReadingOptions& options,
              const std::function<void(const ReadRank&)>& take);

// What a rank's times count from (`base_time_ns` of the metadata), where the trace says it.
std::optional<Nanoseconds> base_time_of(const Trace& trace);

}  // namespace nadi::inline traces
