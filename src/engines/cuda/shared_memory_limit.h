// How much dynamic shared memory a kernel may have, which is 48 KiB less its static arrays until it is asked for.
//
//   allow_shared_memory(kernel, bytes);
//   kernel<<<blocks, threads, bytes, stream>>>(...);
//
// The limit belongs to the kernel on a device, not to its launch: where two threads launch one with different sizes, the
// smaller wish must not come between the larger one and its launch. So limits only grow, and asking again costs nothing.
#pragma once

#include <cstddef>

namespace nadi::inline engines::cuda {

// On the device that is current. Any thread. Error (environment) where the device has less.
void allow_shared_memory(const void* kernel, std::size_t bytes);

template <class... Arguments>
void allow_shared_memory(void (*kernel)(Arguments...), std::size_t bytes) {
  allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes);
}

}  // namespace nadi::inline engines::cuda
