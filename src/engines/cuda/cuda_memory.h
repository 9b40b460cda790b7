// Memory of a GPU: a few large pieces, taken once.
#pragma once

#include <vector>

#include "nadi/cuda/device.h"
#include "nadi/engine/device_memory.h"

namespace nadi::inline engines::cuda {

class CudaMemory : public DeviceMemory {
 public:
  // The device must outlive this.
  explicit CudaMemory(const Device& device);
  ~CudaMemory() override;

  std::byte* allocate(Bytes size) override;
  Bytes allocated() const override { return allocated_; }
  std::int64_t alignment() const override { return kDeviceAlignment; }
  void write(std::byte* target, std::span<const std::byte> from) override;
  void read(const std::byte* source, std::span<std::byte> into) const override;
  std::span<std::byte> host_view(std::byte*, std::int64_t) const override { return {}; }

 private:
  void copy(void* target, const void* source, std::size_t size, cudaMemcpyKind kind) const;

  const Device& device_;
  // Copies have a stream of their own, through memory of the host that the GPU can reach: on the default
  // stream they would wait for the step that is running.
  cudaStream_t stream_ = nullptr;
  std::byte* staging_ = nullptr;
  std::vector<void*> pieces_;
  Bytes allocated_;
};

}  // namespace nadi::inline engines::cuda
