// The memory of the CPU engine: large pieces whose pages are mapped before they are used.
#pragma once

#include <vector>

#include "nadi/cpu/prefaulted_memory.h"
#include "nadi/engine/device_memory.h"

namespace nadi::inline engines::cpu {

class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(int threads) : threads_(threads) {}

  std::byte* allocate(Bytes size) override;
  Bytes allocated() const override { return allocated_; }
  std::int64_t alignment() const override;
  void write(std::byte* target, std::span<const std::byte> from) override;
  void read(const std::byte* source, std::span<std::byte> into) const override;
  std::span<std::byte> host_view(std::byte* address, std::int64_t size) const override;

 private:
  int threads_;
  std::vector<PrefaultedMemory> pieces_;
  Bytes allocated_;
};

}  // namespace nadi::inline engines::cpu
