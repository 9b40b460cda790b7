#include "nadi/testing/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting = false;
std::atomic<std::int64_t> counted = 0;

void* counted_memory(std::size_t size, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) counted.fetch_add(1, std::memory_order_relaxed);
  size = size == 0 ? 1 : size;
  void* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                     ? std::malloc(size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// What is replaced here is what all other forms call.
void* operator new(std::size_t size) {
  return counted_memory(size, 1);
}
void* operator new[](std::size_t size) {
  return counted_memory(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_memory(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted_memory(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace nadi::inline ground {

std::int64_t allocations_in(const std::function<void()>& body) {
  counted = 0;
  counting = true;
  body();
  counting = false;
  return counted;
}

}  // namespace nadi::inline ground
