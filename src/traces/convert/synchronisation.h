// What calls that wait for the device waited for, as dependencies, and what streams waited for of one
// another.
//
// A call that waits lasts, in a replay, from the end of the last op that it waited for to its own end.
// Profiles with cuda_sync events say which stream, and up to which recorded event, a call waited for. Where
// there is no such event it is inferred:
//   - cudaDeviceSynchronize waited for the last op of every stream that was launched before the call and had
//     ended when the call did;
//   - cudaStreamSynchronize and cudaEventSynchronize waited for one stream, but which is not known: of these
//     ops, the one that ended last, and only if it ended within the call (otherwise nothing was waited for);
//   - after cudaStreamWaitEvent, the next op that the thread launches waits for the last op of each other
//     stream that was launched before the call and had ended when the op started.
// An op of the device that was recorded as ending after the call did is never what the call waited for, but
// for a few microseconds by which the clocks may differ.
//
// A stream runs its ops in the order of their launches. So an op without a launch was launched no earlier
// than those before it on its stream: the first ones of a stream before everything that the profile shows.
#pragma once

#include "nadi/convert/host_threads.h"

namespace nadi::inline traces {

// `recorded`: rows of cuda_sync events by correlation.
void link_synchronisation(const LinkSource& source, std::span<const SyncCall> calls, const IdTable& recorded,
                          const IdTable& launches, LinkGraph& graph, ConversionReport& report);

}  // namespace nadi::inline traces
