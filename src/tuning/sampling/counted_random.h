// A stream of random numbers for one suggestion: a function of the study's seed, the trial's number and the
// purpose, so that any worker that is asked draws the same.
//
//   CountedRandom random(seed, number, "tpe");
//   random.uniform();  // in [0, 1)
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "nadi/base/random.h"
#include "nadi/sampling/normal_distribution.h"

namespace nadi::inline tuning {

class CountedRandom {
 public:
  CountedRandom(std::uint64_t seed, std::int64_t number, std::string_view purpose)
      : key_{.seed = seed, .step = static_cast<std::uint64_t>(number), .site = site_of(purpose)} {}

  double uniform() { return random_uniform_double(key_, next_++); }
  double uniform_open() { return uniform() + 0x1p-54; }  // never 0
  double normal() { return normal_quantile(uniform_open()); }

  // In [0, count).
  std::int64_t below(std::int64_t count) {
    const auto drawn = static_cast<std::int64_t>(uniform() * static_cast<double>(count));
    return drawn < count ? drawn : count - 1;
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

}  // namespace nadi::inline tuning
