// Copies between memory of the GPU and pinned memory of the host, for messages that go through the host
// (comm/through_host.h). Buffers are allocated when none that is free is large enough: in the first step of a
// program, and not again.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "nadi/comm/through_host.h"

namespace nadi::inline engines::cuda {

class PinnedCopies : public HostCopies {
 public:
  PinnedCopies() = default;
  ~PinnedCopies() override;
  PinnedCopies(const PinnedCopies&) = delete;
  PinnedCopies& operator=(const PinnedCopies&) = delete;

  // What the compute stream is from now on.
  void compute_on(cudaStream_t stream) { compute_ = stream; }

  std::span<std::byte> take(std::size_t size) override;
  void give_back(std::span<std::byte> buffer) override;
  void to_host(std::span<const std::byte> from, std::byte* to) override;
  void to_device(std::span<const std::byte> from, std::byte* to) override;

 private:
  struct Buffer {
    std::byte* bytes = nullptr;
    std::size_t size = 0;
    cudaEvent_t copied = nullptr;  // what was copied from or to it before it was given back
    bool used = false;
  };

  cudaStream_t compute_ = nullptr;
  std::vector<Buffer> buffers_;
};

}  // namespace nadi::inline engines::cuda
