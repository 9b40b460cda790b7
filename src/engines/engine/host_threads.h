// The one thread pool of the process: OpenMP's, which oneDNN and OpenBLAS (its OpenMP build) use as well,
// so that no two pools spin against each other.
//
//   parallel_for(rows, threads, [&](std::int64_t first, std::int64_t end, int thread) { ... });
//
// Every thread gets one contiguous part, decided by count and number of threads alone: the same call gives
// the same sums. Without OpenMP the parts run one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nadi::inline engines {

// How many threads an engine uses when the user did not say: one per core that the process may run on.
int default_threads();

// By the thread that will run kernels, before the first. Error (environment) where threads are short.
void set_threads(int threads);

// Below this many elements a loop takes about as long as waking the threads (2 to 5 us); measured by
// bench/cpu_kernel_bench.
inline constexpr std::int64_t kParallelElements = 8192;

// How many threads `elements` are worth.
inline int worthwhile_threads(std::int64_t elements, int threads) {
  return static_cast<int>(std::clamp<std::int64_t>(elements / kParallelElements, 1, threads));
}

// body(first, end, thread) for every part of [0, count); at most `threads` parts, none empty.
template <class Body>
void parallel_for(std::int64_t count, int threads, const Body& body) {
  if (count <= 0) return;
  const int parts = static_cast<int>(std::min<std::int64_t>(count, threads));
  if (parts == 1) {
    body(std::int64_t{0}, count, 0);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) body(count * part / parts, count * (part + 1) / parts, part);
}

}  // namespace nadi::inline engines
