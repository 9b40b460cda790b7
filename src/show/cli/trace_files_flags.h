// The flags that say where traces go, for the commands that write them: PREFIX.<rank>.et for each rank.
#pragma once

#include "nadi/tracing/trace_files.h"

namespace nadi::inline show {

class Flags;

void add_trace_files_flags(Flags& flags);
TraceFiles trace_files_of(const Flags& flags);

}  // namespace nadi::inline show
