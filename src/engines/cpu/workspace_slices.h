// Cuts a kernel's workspace into arrays, each on a cache line of its own. Made without memory it only counts,
// so that the function that asks for workspace and the kernel that uses it share one list of arrays.
//
//   WorkspaceSlices slices;                  // or slices(memory)
//   const Buffers buffers(slices, extents);  // calls slices.take<float>(n) for each of its pointers
//   slices.bytes()
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/base/round_up.h"

namespace nadi::inline engines::cpu {

class WorkspaceSlices {
 public:
  explicit WorkspaceSlices(std::byte* memory = nullptr) : memory_(memory) {}

  // nullptr when counting.
  template <class T>
  T* take(std::int64_t count) {
    std::byte* at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += rounded_up(count * static_cast<std::int64_t>(sizeof(T)), kCacheLine);
    return reinterpret_cast<T*>(at);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::int64_t kCacheLine = 64;

  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace nadi::inline engines::cpu
