#include "nadi/cuda/pinned_copies.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/round_up.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_wait.h"

namespace nadi::inline engines::cuda {
namespace {

// Sizes of buffers are multiples of this, so that messages of about the same size share them.
constexpr std::size_t kPinnedUnit = 64 * 1024;

}  // namespace

PinnedCopies::~PinnedCopies() {
  for (const Buffer& buffer : buffers_) {
    cudaEventSynchronize(buffer.copied);
    cudaEventDestroy(buffer.copied);
    cudaFreeHost(buffer.bytes);
  }
}

std::span<std::byte> PinnedCopies::take(std::size_t size) {
  if (size == 0) return {};
  Buffer* best = nullptr;
  for (Buffer& buffer : buffers_)
    if (!buffer.used && buffer.size >= size && (best == nullptr || buffer.size < best->size)) best = &buffer;
  if (best == nullptr) {
    Buffer buffer{.size = rounded_up(size, kPinnedUnit)};
    void* bytes = nullptr;
    check_cuda(cudaMallocHost(&bytes, buffer.size), "cudaMallocHost");
    buffer.bytes = static_cast<std::byte*>(bytes);
    check_cuda(cudaEventCreateWithFlags(&buffer.copied, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    best = &buffers_.emplace_back(buffer);
  }
  wait_for(best->copied);
  best->used = true;
  return {best->bytes, size};
}

void PinnedCopies::give_back(std::span<std::byte> given) {
  const auto buffer = std::ranges::find(buffers_, given.data(), &Buffer::bytes);
  check(buffer != buffers_.end() && buffer->used, "a buffer is given back that was not taken");
  check_cuda(cudaEventRecord(buffer->copied, compute_), "cudaEventRecord");
  buffer->used = false;
}

void PinnedCopies::to_host(std::span<const std::byte> from, std::byte* to) {
  check_cuda(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDeviceToHost, compute_),
             "cudaMemcpyAsync");
  wait_for(compute_);
}

void PinnedCopies::to_device(std::span<const std::byte> from, std::byte* to) {
  check_cuda(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, compute_),
             "cudaMemcpyAsync");
}

}  // namespace nadi::inline engines::cuda
