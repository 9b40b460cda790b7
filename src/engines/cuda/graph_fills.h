// Fills of memory within a CUDA graph, done by kernels.
//
//   cudaStreamEndCapture(stream, &graph);
//   fills_as_kernels(graph);
//   cudaGraphInstantiate(&executable, graph, 0);
//
// Libraries clear their workspaces with cudaMemsetAsync (cuBLASLt before a product that is split along k,
// cuDNN before a gradient of attention). A graph that is a line of kernels is launched in constant time; one
// with other nodes in between is put together anew by the driver at each launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace nadi::inline engines::cuda {

// Replaces every fill by a kernel with the same dependencies; returns how many there were.
std::size_t fills_as_kernels(cudaGraph_t graph);

}  // namespace nadi::inline engines::cuda
