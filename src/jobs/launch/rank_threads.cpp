#include "nadi/launch/rank_threads.h"

#include <algorithm>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/launch/rank_supervisor.h"

namespace nadi::inline jobs {

int threads_of_rank(const EnvironmentLookup& environment) {
  if (const auto share = environment(std::string(kThreadsVariable).c_str())) {
    std::int64_t threads = 0;
    if (!read_number(*share, threads) || threads < 1)
      throw usage_error(format("{} is '{}', not a number of threads from 1 on", kThreadsVariable, *share),
                        "unset it, or set it to a number");
    return static_cast<int>(std::min<std::int64_t>(threads, kMostThreads));
  }
  const std::int64_t ranks = ranks_on_host(environment);
  if (ranks <= 1 || environment("OMPI_MCA_orte_bound_at_launch") == "1") return 0;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<std::int64_t>(cores / ranks, 1, kMostThreads));
}

}  // namespace nadi::inline jobs
