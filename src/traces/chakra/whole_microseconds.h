// Durations in whole microseconds, as Chakra's duration_micros has them and simulators add them up.
//
// Kernels last a few microseconds, and many of them last equally long: rounding each down loses half a
// microsecond on average, and rounding each to the nearest loses 0.4 us of every kernel of 1.4 us. So the
// rounding error of one duration is carried over to the next: the written durations of a lane add up to what
// the exact ones add up to, to half a microsecond. A duration of whole microseconds is never changed, and any
// other becomes one of its two neighbours.
//
//   WholeMicroseconds whole;
//   node.write_micros(whole.of(node));                        // in the order of the file
//
// A lane is what a simulator works off one after the other: ops of the host, computation, communication.
#pragma once

#include <array>
#include <cstdint>

#include "nadi/base/units.h"

namespace nadi::inline traces {

struct TraceNode;

class WholeMicroseconds {
 public:
  std::int64_t of(const TraceNode& node);

 private:
  std::array<std::int64_t, 3> owed_{};  // by lane, in ns: the exact sum minus the written one; -500 to 499
};

// The nearest one, of a single time: half a microsecond is rounded up.
std::int64_t nearest_microsecond(Nanoseconds time);

}  // namespace nadi::inline traces
