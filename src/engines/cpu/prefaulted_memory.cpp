#include "nadi/cpu/prefaulted_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;

// What the machine has left for us, caches it can drop included; 0 when it does not say.
std::int64_t available_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  return pages <= 0 || size <= 0 ? 0 : static_cast<std::int64_t>(pages) * size;
}

}  // namespace

PrefaultedMemory::PrefaultedMemory(Bytes size, int threads) {
  if (size.count() == 0) return;
  const std::int64_t wanted = size.count();
  // Aligned to huge pages by cutting the ends off a larger piece.
  const std::int64_t reserved = wanted + kHugePage;
  void* mapped = mmap(nullptr, static_cast<std::size_t>(reserved), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw environment_error(format("not enough memory: {} are needed, about {} are free", to_string(size),
                                   to_string(Bytes{available_bytes()})),
                            "use a smaller batch, shorter sequences, more micro-batches, or recomputation");
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = rounded_up(start, kHugePage);
  if (aligned > start) munmap(mapped, aligned - start);
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t end = rounded_up(aligned + static_cast<std::uintptr_t>(wanted), page);
  if (end < start + static_cast<std::uintptr_t>(reserved))
    munmap(reinterpret_cast<void*>(end), start + static_cast<std::uintptr_t>(reserved) - end);
  data_ = reinterpret_cast<std::byte*>(aligned);
  size_ = static_cast<std::size_t>(wanted);
  madvise(data_, size_, MADV_HUGEPAGE);
  parallel_for(divided_up(wanted, static_cast<std::int64_t>(page)), threads,
               [&](std::int64_t first, std::int64_t last, int) {
                 for (std::int64_t i = first; i < last; ++i)
                   *static_cast<volatile std::byte*>(data_ + i * static_cast<std::int64_t>(page)) =
                       std::byte{0};
               });
}

PrefaultedMemory::PrefaultedMemory(PrefaultedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PrefaultedMemory& PrefaultedMemory::operator=(PrefaultedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PrefaultedMemory::~PrefaultedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace nadi::inline engines::cpu
