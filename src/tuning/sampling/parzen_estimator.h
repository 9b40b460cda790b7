// A density over points: one kernel around each of some trials, and one over the whole space.
//
//   const ParzenEstimator good(space, parameters, points);
//   const std::vector<double> point = good.draw(random);
//   good.log_density(point);
//
// A kernel is a product over the parameters: a normal kept to the range for numbers (its mass on the cell of
// a value for grids), and for choices most of the weight on the trial's own. Its width in a parameter is the
// larger gap to the next kernels on both sides, at least the range by the number of kernels, at most the
// range. Densities are in units.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/search_space.h"

namespace nadi::inline tuning {

class ParzenEstimator {
 public:
  // Over some parameters of the space, by index; points that lack one of them are left out. Points later in
  // the list are newer; of more than 25 the oldest have less weight.
  ParzenEstimator(const SearchSpace& space, std::vector<std::size_t> parameters,
                  const std::vector<std::span<const double>>& points);

  // Values of the parameters, in their order.
  std::vector<double> draw(CountedRandom& random) const;
  double log_density(std::span<const double> values) const;

  std::size_t kernels() const { return log_weights_.size(); }

 private:
  struct Numeric {
    std::vector<double> centre;  // of each kernel, in units
    std::vector<double> width;
    std::vector<double> log_mass;  // of the normal within [0, 1]
  };
  double log_kernel(std::size_t parameter, std::size_t kernel, double value) const;

  const SearchSpace& space_;
  std::vector<std::size_t> parameters_;
  std::vector<double> log_weights_;
  std::vector<double> sums_;                  // of the weights, running
  std::vector<Numeric> numeric_;              // of each parameter; empty for choices
  std::vector<std::vector<double>> choices_;  // the choice of each kernel; of the last, the prior, none
};

}  // namespace nadi::inline tuning
