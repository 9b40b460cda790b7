// Which ops of other threads a host thread waited for, inferred from times.
//
// A thread that does nothing for more than kWaitLength, while an op of another thread ends, is taken to have
// waited for the last such op, as the main thread does for the one that runs the backward pass: its gap then
// depends on that op and lasts only from there. Before its first op a thread waits in the same way, however
// long that takes.
//
// Where the host is the device (converted_trace.h) there are no gaps: an op waits for what ended on each
// other thread since the op before it, and that is how communication in the background is ordered.
#pragma once

#include "nadi/convert/host_threads.h"

namespace nadi::inline traces {

inline constexpr Nanoseconds kWaitLength{1'000'000};

// After link_host_threads() and before other passes, which shorten calls that wait.
void link_thread_waits(const LinkSource& source, LinkGraph& graph, ConversionReport& report);

}  // namespace nadi::inline traces
