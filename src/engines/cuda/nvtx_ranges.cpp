#include "nadi/cuda/nvtx_ranges.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include "nadi/cuda/cuda_error.h"
#include "nadi/graph/graph.h"

namespace nadi::inline engines::cuda {

NvtxRanges::NvtxRanges() {
  check_cuda(cudaProfilerStart(), "cudaProfilerStart");
}

NvtxRanges::~NvtxRanges() {
  end_run();
  cudaProfilerStop();
}

void NvtxRanges::enter(const CallOrigin& origin) {
  const RangeChange change = ranges_.enter(to_string(origin.op.phase), origin.graph.layer(origin.op.layer));
  for (std::size_t i = 0; i < change.closed; ++i) nvtxRangePop();
  for (const std::string& name : change.opened) nvtxRangePushA(name.c_str());
}

void NvtxRanges::end_run() {
  for (std::size_t i = 0; i < ranges_.open(); ++i) nvtxRangePop();
  ranges_.clear();
}

}  // namespace nadi::inline engines::cuda
