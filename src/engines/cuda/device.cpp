#include "nadi/cuda/device.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/cudnn_attention.h"
#include "nadi/cuda/matrix_products.h"

namespace nadi::inline engines::cuda {

Device::Device(int number, const MathOptions& options) : number_(number) {
  if (const auto why = why_no_cuda()) throw environment_error(why->reason, why->hint);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
  name_ = properties.name;
  traits_ = {.compute_capability = properties.major * 10 + properties.minor,
             .multiprocessors = properties.multiProcessorCount,
             .shared_memory_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin),
             .cudnn = false,
             .math = options};
  make_current();
  void* counters = nullptr;
  check_cuda(cudaMalloc(&counters, kCounters * sizeof(unsigned)), "cudaMalloc");
  check_cuda(cudaMemset(counters, 0, kCounters * sizeof(unsigned)), "cudaMemset");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  counters_ = static_cast<unsigned*>(counters);
  attention_ = CudnnAttention::open(*this);
  traits_.cudnn = attention_ != nullptr;
}

Device::~Device() {
  cudaFree(counters_);
}

void Device::make_current() const {
  check_cuda(cudaSetDevice(number_), "cudaSetDevice");
}

MatrixProducts& Device::products() {
  if (products_ == nullptr) products_ = std::make_unique<MatrixProducts>(*this);
  return *products_;
}

}  // namespace nadi::inline engines::cuda
