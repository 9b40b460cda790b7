// Random variation of the time of an op: counted, not drawn (base/random.h), so that it is the same whoever
// asks for it and in whatever order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/base/random.h"
#include "nadi/sim/replay_job.h"

namespace nadi::inline predict {

inline std::int64_t jittered(const ReplayJob& job, const ReplayActor& actor, std::uint32_t node,
                             std::int64_t duration) {
  const RandomKey key{
      .seed = job.seed, .step = static_cast<std::uint64_t>(actor.rank), .site = site_of("simulation.jitter")};
  const double factor = 1 + job.jitter * static_cast<double>(random_normal(key, node));
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(static_cast<double>(duration) * factor));
}

}  // namespace nadi::inline predict
