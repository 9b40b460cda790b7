// Number, sum, extremes and spread of durations, added one at a time or put together from parts.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/base/units.h"

namespace nadi::inline traces {

class DurationStatistics {
 public:
  void add(Nanoseconds duration);
  void add(const DurationStatistics& other);

  std::int64_t count() const { return count_; }
  Nanoseconds total() const { return total_; }
  // Zero where there are none.
  Nanoseconds least() const { return least_; }
  Nanoseconds most() const { return most_; }
  double mean_ns() const { return mean_; }
  // Deviation of the sample: divided by n - 1; 0 below two.
  double standard_deviation_ns() const;

 private:
  std::int64_t count_ = 0;
  Nanoseconds total_, least_, most_;
  // Welford: mean so far, and sum of the squared distances from it. Sums of squares would cancel.
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace nadi::inline traces
