#include "nadi/cpu/host_memory.h"

#include <cstring>

#include "nadi/graph/memory_plan.h"

namespace nadi::inline engines::cpu {

std::byte* HostMemory::allocate(Bytes size) {
  // Small pieces are not worth waking the threads.
  constexpr Bytes kWorthThreads{1 << 24};
  pieces_.emplace_back(size, size < kWorthThreads ? 1 : threads_);
  allocated_ += size;
  return pieces_.back().data();
}

std::int64_t HostMemory::alignment() const {
  return kArenaAlignment;
}

void HostMemory::write(std::byte* target, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(target, from.data(), from.size());
}

void HostMemory::read(const std::byte* source, std::span<std::byte> into) const {
  if (!into.empty()) std::memcpy(into.data(), source, into.size());
}

std::span<std::byte> HostMemory::host_view(std::byte* address, std::int64_t size) const {
  return {address, static_cast<std::size_t>(size)};
}

}  // namespace nadi::inline engines::cpu
