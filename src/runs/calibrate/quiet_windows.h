// Measures only while the machine is quiet: measurements are judged in windows, by the rule of
// base/processor_use.h, and those of disturbed windows are made again for a bounded time.
//
//   QuietWindows quiet(world, Nanoseconds{60'000'000'000});      // on every rank
//   quiet.begin();
//   measure(); measure();
//   if (quiet.end(seconds_that_it_took)) keep(); else measure_again();
//   quiet.conditions()                                           // how many there were, for the user
//
// All ranks of the job begin and end windows together and get the same answer. What they use together is no
// disturbance. A window is judged when it is long enough; use `wants_more` to make it so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "nadi/base/processor_use.h"
#include "nadi/base/units.h"
#include "nadi/cluster/measured_ops.h"
#include "nadi/comm/communicator.h"

namespace nadi::inline runs {

using ReadProcessorUse = std::function<std::optional<ProcessorUse>()>;

class QuietWindows {
 public:
  // `patience`: how much time disturbed windows may take in all; then they are kept. 0 means nothing is judged.
  QuietWindows(Communicator& world, Nanoseconds patience, ReadProcessorUse read = processor_use_so_far);

  void begin();
  // Whether a window that has taken so long so far is too short to be judged.
  bool wants_more(double seconds) const;
  // Whether what was measured since begin() counts. `seconds`: how long it took, the same on all ranks.
  bool end(double seconds);
  // Share of the window that ended last: what was stolen or taken by others, of the processor time.
  double latest_share() const { return latest_; }
  bool judges() const { return judges_; }
  bool has_patience() const { return patience_ > 0; }

  const MeasuringConditions& conditions() const { return conditions_; }

 private:
  Communicator& world_;
  const bool judges_;
  double patience_;  // seconds left
  ReadProcessorUse read_;
  std::int64_t processors_ = 1;
  std::optional<ProcessorUse> before_ = {};
  double latest_ = 0;
  MeasuringConditions conditions_;
};

// Reductions of a number over all ranks, on every rank.
double largest_over_ranks(Communicator& world, double value);
double sum_over_ranks(Communicator& world, double value);

}  // namespace nadi::inline runs
