#include "nadi/graph/ops/rotary.h"

#include <cmath>

#include "nadi/reference/kernel.h"

namespace nadi::inline engines {

// Letters: B sequences, T tokens, H heads, D width of a head.
void rotary_kernel(KernelCall& call) {
  const std::int64_t B = call.shape(0)[0], T = call.shape(0)[1];
  const std::int64_t H = call.attributes().integer("heads"), D = call.shape(0)[2] / H;
  const std::vector<double> frequencies = rotary_frequencies(call.attributes()).values(D);
  const double direction = call.attributes().boolean("inverse") ? -1 : 1;
  const std::span<const double> x = call.in(0);
  const std::span<double> y = call.out(0);
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t position =
          call.has(2) ? call.integer(2, t) : (call.has(1) ? call.integer(1, b) : 0) + t;
      for (std::int64_t h = 0; h < H; ++h) {
        const std::int64_t head = ((b * T + t) * H + h) * D;
        for (std::int64_t i = 0; i < D / 2; ++i) {
          const double angle = direction * static_cast<double>(position) * frequencies[i];
          const double low = x[head + i], high = x[head + i + D / 2];
          y[head + i] = low * std::cos(angle) - high * std::sin(angle);
          y[head + i + D / 2] = high * std::cos(angle) + low * std::sin(angle);
        }
      }
    }
  }
}

}  // namespace nadi::inline engines
