#include "nadi/engine/host_threads.h"

#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "nadi/base/resource_shortage.h"

namespace nadi::inline engines {

int default_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

void set_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  expect_threads(threads - 1);  // OpenMP would end the program
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  // It keeps the threads that it has. What the run allocates later may leave no room for them.
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
  }
#endif
}

}  // namespace nadi::inline engines
