// Barriers in shared memory that wait for copies into it (Hopper and later; elsewhere they are not used).
//
//   full.expect(bytes);                              // one thread
//   copy_to_shared(to, from, bytes, full);
//   full.wait(phase);                                // all that read: phase 0, then 1, 0, ... each time anew
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace nadi::inline engines::cuda {

struct RingBarrier {
  std::uint64_t state;

  __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(&state)); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ void begin(unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ void arrive() {
    asm volatile("{\n.reg .b64 was;\nmbarrier.arrive.shared::cta.b64 was, [%0];\n}" ::"r"(address())
                 : "memory");
  }
  // Arrives, and the phase ends when so many bytes have come.
  __device__ void expect(unsigned bytes) {
    asm volatile(
        "{\n.reg .b64 was;\nmbarrier.arrive.expect_tx.shared::cta.b64 was, [%0], %1;\n}" ::"r"(address()),
        "r"(bytes)
        : "memory");
  }
  // Until the phase of this parity is over.
  __device__ void wait(unsigned parity) const {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
#else
  __device__ void begin(unsigned) {}
  __device__ void arrive() {}
  __device__ void expect(unsigned) {}
  __device__ void wait(unsigned) const {}
#endif
};

// What copies see of barriers that were begun; a block's barrier follows.
__device__ inline void publish_barriers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Addresses and bytes are multiples of 16.
__device__ inline void copy_to_shared(void* to, const void* from, unsigned bytes, const RingBarrier& full) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes), "r"(full.address())
      : "memory");
#else
  (void)to, (void)from, (void)bytes, (void)full;
#endif
}

}  // namespace nadi::inline engines::cuda
