// How a rank's times are brought onto the clock of rank 0, for traces of several ranks.
#pragma once

#include <optional>

#include "nadi/base/units.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

struct RankClock {
  Nanoseconds offset = {};                      // this rank's steady clock minus that of rank 0
  std::optional<Nanoseconds> wall_origin = {};  // of rank 0: its wall clock minus its steady clock
};

// Collective. Of one rank: nothing to bring anywhere.
RankClock measure_rank_clock(Communicator& world);

}  // namespace nadi::inline runs
