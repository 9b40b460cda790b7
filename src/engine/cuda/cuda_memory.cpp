#include "nadi/engine/cuda/cuda_memory.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/cuda/cuda_error.h"

namespace nadi::cuda {

CudaMemory::~CudaMemory() {
  for (void* piece : pieces_) cudaFree(piece);
}

std::byte* CudaMemory::allocate(Bytes size) {
  if (size.count() == 0) return nullptr;
  device_.make_current();
  void* piece = nullptr;
  const cudaError_t result = cudaMalloc(&piece, static_cast<std::size_t>(size.count()));
  if (result == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaGetLastError();
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    throw environment_error(
        format("GPU {} ({}) has {} of its {} free; {} more are needed, beside {} that are taken",
               device_.number(), device_.name(), to_string(Bytes{static_cast<std::int64_t>(free)}),
               to_string(Bytes{static_cast<std::int64_t>(total)}), to_string(size), to_string(allocated_)),
        "a smaller --micro-batch-size, --recompute full, or more ranks (--tp, --pp, "
        "--use-distributed-optimizer) "
        "need less: 'nadi show MODEL --device cuda' tells how much");
  }
  check_cuda(result, "cudaMalloc");
  pieces_.push_back(piece);
  allocated_ += size;
  check_cuda(cudaMemset(piece, 0, static_cast<std::size_t>(size.count())), "cudaMemset");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return static_cast<std::byte*>(piece);
}

void CudaMemory::write(std::byte* target, std::span<const std::byte> from) {
  device_.make_current();
  check_cuda(cudaMemcpy(target, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
  // It may return when the bytes have left the caller's memory, before they have come to the GPU's; and
  // kernels run on streams that do not wait for it.
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize");
}

void CudaMemory::read(const std::byte* source, std::span<std::byte> into) const {
  device_.make_current();
  check_cuda(cudaMemcpy(into.data(), source, into.size(), cudaMemcpyDeviceToHost), "cudaMemcpy from the GPU");
}

}  // namespace nadi::cuda
