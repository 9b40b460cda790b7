// Small reductions over the ranks of a job between steps: a few numbers at a time. All calls are collective:
// every rank makes them, in the same order.
//
//   const Agreement agreement(world);
//   const bool stop = agreement.any(interrupted);
//   const double loss = agreement.of(last_stage, own_loss);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline runs {

class Agreement {
 public:
  explicit Agreement(Communicator& world) : world_(world) {}

  bool any(bool value) const;
  // In the order of the ranks: the same sum on all of them.
  std::int64_t sum(std::int64_t value) const;
  double sum(double value) const;
  std::vector<double> sums(std::span<const double> values) const;  // of as many numbers on every rank
  double maximum(double value) const;
  std::vector<double> each(double value) const;  // by rank
  // That rank's value.
  double of(Rank rank, double value) const;
  std::int64_t of(Rank rank, std::int64_t value) const;

 private:
  template <class T>
  std::vector<T> all(T value) const;

  Communicator& world_;
};

}  // namespace nadi::inline runs
