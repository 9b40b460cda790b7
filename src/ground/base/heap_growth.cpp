#include "nadi/base/heap_growth.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace nadi::inline ground {

void grow_heap_in_large_steps() {
  constexpr int kStep = 32 << 20;  // bytes
  mallopt(M_TOP_PAD, kStep);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, kStep);
  const auto end_of_heap = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  const std::uintptr_t before = end_of_heap();
  // More than is free on the heap by now, so that it grows by a step.
  constexpr std::size_t kMoreThanFree = 256 << 10;
  void* volatile piece = std::malloc(kMoreThanFree);
  std::free(piece);
  // The large pages that are whole within the step: none where malloc() has its memory from elsewhere, as
  // sanitizers do.
  constexpr std::uintptr_t kLargePage = 2 << 20;
  const std::uintptr_t first = (before + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t end = end_of_heap() / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace nadi::inline ground
