#include "nadi/cuda/cuda_memory.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_wait.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::size_t kStaging = std::size_t{4} << 20;

}  // namespace

CudaMemory::CudaMemory(const Device& device) : device_(device) {
  device_.make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  void* pinned = nullptr;
  check_cuda(cudaMallocHost(&pinned, kStaging), "cudaMallocHost");
  staging_ = static_cast<std::byte*>(pinned);
}

CudaMemory::~CudaMemory() {
  for (void* piece : pieces_) cudaFree(piece);
  cudaFreeHost(staging_);
  cudaStreamDestroy(stream_);
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

void CudaMemory::copy(void* target, const void* source, std::size_t size, cudaMemcpyKind kind) const {
  check_cuda(cudaMemcpyAsync(target, source, size, kind, stream_), "cudaMemcpyAsync");
  wait_for(stream_);
}

void CudaMemory::write(std::byte* target, std::span<const std::byte> from) {
  device_.make_current();
  for (std::size_t at = 0; at < from.size(); at += kStaging) {
    const std::size_t size = std::min(kStaging, from.size() - at);
    std::memcpy(staging_, from.data() + at, size);
    copy(target + at, staging_, size, cudaMemcpyHostToDevice);
  }
}

void CudaMemory::read(const std::byte* source, std::span<std::byte> into) const {
  device_.make_current();
  for (std::size_t at = 0; at < into.size(); at += kStaging) {
    const std::size_t size = std::min(kStaging, into.size() - at);
    copy(staging_, source + at, size, cudaMemcpyDeviceToHost);
    std::memcpy(into.data() + at, staging_, size);
  }
}

}  // namespace nadi::inline engines::cuda
