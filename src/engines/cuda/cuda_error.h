// Results of CUDA's runtime: everything but success is an Error (environment) with the call and CUDA's words.
#pragma once

#include <cuda_runtime_api.h>

namespace nadi::inline engines::cuda {

void check_cuda(cudaError_t result, const char* call);

}  // namespace nadi::inline engines::cuda
