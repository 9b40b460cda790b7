// Names for profilers from outside, nsys and ncu: while this lives, cudaProfilerStart() has been called and
// what is enqueued lies in NVTX ranges of its phase and layers ("forward", "transformer.h.3",
// "transformer.h.3.attn").
//
//   NvtxRanges ranges;                          // nsys profile --capture-range=cudaProfilerApi begins here,
//   ranges.enter(origin_of(...));               // before each kernel
//   ranges.end_run();                           // closes what is open
//                                               // and ends where this is destroyed
//
// A graph that is replayed has no ranges inside: kernels must be enqueued one by one. Without a profiler a
// range costs some nanoseconds; NVTX is headers alone, which look for a profiler when they are first used.
#pragma once

#include "nadi/recording/executed_step.h"
#include "nadi/recording/layer_ranges.h"

namespace nadi::inline engines::cuda {

class NvtxRanges {
 public:
  // The device must be idle, here and at the end.
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  void enter(const CallOrigin& origin);
  void end_run();

 private:
  LayerRanges ranges_;
};

}  // namespace nadi::inline engines::cuda
