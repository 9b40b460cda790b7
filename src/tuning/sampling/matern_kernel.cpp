#include "nadi/sampling/matern_kernel.h"

namespace nadi::inline tuning {

void matern_correlations(const GaussianInputs& inputs, std::span<const double> weights,
                         std::span<const double> point, std::span<double> out, std::span<double> slopes) {
  const std::size_t dimensions = inputs.parameters;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double* other = &inputs.points[i * dimensions];
    double square = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double difference = point[d] - other[d];
      square += weights[d] * (inputs.choice[d] ? (difference == 0 ? 0.0 : 1.0) : difference * difference);
    }
    const MaternAt at = matern(square);
    out[i] = at.value;
    slopes[i] = at.slope;
  }
}

}  // namespace nadi::inline tuning
