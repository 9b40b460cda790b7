#include "nadi/analysis/duration_statistics.h"

#include <algorithm>
#include <cmath>

namespace nadi::inline traces {

void DurationStatistics::add(Nanoseconds duration) {
  least_ = count_ == 0 ? duration : std::min(least_, duration);
  most_ = count_ == 0 ? duration : std::max(most_, duration);
  ++count_;
  total_ += duration;
  const auto value = static_cast<double>(duration.count());
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (value - mean_);
}

void DurationStatistics::add(const DurationStatistics& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  least_ = std::min(least_, other.least_);
  most_ = std::max(most_, other.most_);
  const auto here = static_cast<double>(count_), there = static_cast<double>(other.count_);
  const double distance = other.mean_ - mean_;
  count_ += other.count_;
  total_ += other.total_;
  mean_ += distance * there / (here + there);
  squares_ += other.squares_ + distance * distance * here * there / (here + there);
}

double DurationStatistics::standard_deviation_ns() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

}  // namespace nadi::inline traces
