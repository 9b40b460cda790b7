#include "nadi/run/rank_clock.h"

#include "nadi/comm/clock_offset.h"
#include "nadi/comm/communicator.h"
#include "nadi/recording/run_traces.h"
#include "nadi/run/agreement.h"

namespace nadi::inline runs {

RankClock measure_rank_clock(Communicator& world) {
  if (world.size() == 1) return {};
  RankClock clock{.offset = measure_clock_offset(world)};
  clock.wall_origin = Nanoseconds{Agreement(world).of(Rank{0}, clock_origin_now().count())};
  return clock;
}

}  // namespace nadi::inline runs
