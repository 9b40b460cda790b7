#include "nadi/process/usable_cores.h"

#include <sched.h>

#include <algorithm>

namespace nadi::inline ground {

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

}  // namespace nadi::inline ground
