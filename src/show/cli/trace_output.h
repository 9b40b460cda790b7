// The flags that say where traces go, for the commands that write them: PREFIX.<rank>.et for each rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nadi/base/atomic_file.h"

namespace nadi::inline show {

class Flags;

struct TraceOutput {
  std::string prefix;
  Overwrite overwrite = Overwrite::kRefuse;

  std::filesystem::path file_of(std::int64_t rank) const;
};

void add_trace_output_flags(Flags& flags);

// Error (usage) for more files than a folder should hold, said before the first is written. `hint` may be "".
void check_file_count(std::int64_t files, const std::string& hint);

// Error (usage) when there is no prefix, or one that is no start of file names.
TraceOutput resolve_trace_output(const Flags& flags);

}  // namespace nadi::inline show
