// Copies of 16 bytes from device memory to shared memory that a thread starts and waits for later.
//
//   copy_ahead(to, from); copy_ahead(...); end_of_copies();      // a group, and another one ...
//   wait_for_copies<1>();                                        // all groups but the last one are there
#pragma once

#include <cuda_runtime.h>

namespace nadi::inline engines::cuda {

__device__ inline void copy_ahead(void* to, const void* from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from)
      : "memory");
}
__device__ inline void end_of_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace nadi::inline engines::cuda
