// A large piece of memory whose pages are mapped before it is used: the first touch of a page costs about as
// much as the arithmetic on it, so it is paid once, at the start, by all threads. Uses huge pages where
// the system has them. Filled with zeros.
#pragma once

#include <cstddef>
#include <span>

#include "nadi/base/units.h"

namespace nadi::inline engines::cpu {

class PrefaultedMemory {
 public:
  PrefaultedMemory() = default;
  // Error (environment) with the size when the system does not give that much.
  PrefaultedMemory(Bytes size, int threads);
  PrefaultedMemory(PrefaultedMemory&& other) noexcept;
  PrefaultedMemory& operator=(PrefaultedMemory&& other) noexcept;
  ~PrefaultedMemory();

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nadi::inline engines::cpu
