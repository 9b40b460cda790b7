#include "nadi/base/heap_growth.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace nadi {

void grow_heap_in_large_steps() {
  constexpr int kStep = 32 << 20;
  mallopt(M_TOP_PAD, kStep);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, kStep);
  // More than is free on the heap by now, so that it grows by a step, whose end is then the end of the heap.
  constexpr std::size_t kMoreThanFree = 256 << 10;
  void* volatile piece = std::malloc(kMoreThanFree);
  std::free(piece);
  constexpr std::uintptr_t kLargePage = 2 << 20;
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) / kLargePage * kLargePage;
  const std::uintptr_t first = end - kStep + kLargePage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace nadi
