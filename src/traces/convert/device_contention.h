// What ops of a device waited for of other streams without being told to.
//
// Kernels of several streams share a device: one that was launched and whose stream is free starts when the
// others leave room. And ops of a captured graph lie on several streams and wait for one another, which the
// profile does not say. So an op that started more than kHeldTime after all that it is known to wait for is
// taken to have waited for the op of another stream of its device that ended last by then. A kernel starts
// while the last blocks of another still run, so that one may have ended kOverlap later, if that is not more
// than a tenth of it.
//
// Profiles with one stream a device are left as they are. Linear, but for sorting.
#pragma once

#include "nadi/convert/host_threads.h"

namespace nadi::inline traces {

inline constexpr Nanoseconds kHeldTime{5'000};
inline constexpr Nanoseconds kOverlap{10'000};
inline constexpr std::int64_t kOverlapShare = 10;

// After everything else that device ops wait for is known.
void link_device_contention(const LinkSource& source, LinkGraph& graph, ConversionReport& report);

}  // namespace nadi::inline traces
