#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

enum Input { kA, kB, kBias, kAScale, kBScale };

// A matrix [rows, columns] in memory of its own, from one that may be stored as [columns, rows].
Doubles as_rows(std::span<const double> x, std::int64_t rows, std::int64_t columns, bool transposed) {
  if (!transposed) return {x.begin(), x.end()};
  Doubles result(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) result[i * columns + j] = x[j * rows + i];
  return result;
}

}  // namespace

// y = activation(alpha * op(a) op(b) + bias); the second output, where there is one, is what went into the
// activation. Letters: m rows and n columns of y, k the inner extent. A row of y is a sum of rows of b, which
// compilers make vectors of; each element still is the sum over k in its order.
void matmul_kernel(KernelCall& call) {
  const auto [batches, m, n, k] = matmul_extents(call.op());
  const Attributes& attributes = call.attributes();
  const Activation activation = activation_named(attributes.text("activation"));
  const double alpha = attributes.real("alpha") * call.scalar_or(kAScale, 1) * call.scalar_or(kBScale, 1);

  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const Doubles a =
        as_rows(call.in(kA).subspan(batch * m * k, m * k), m, k, attributes.boolean("transpose_a"));
    const Doubles b =
        as_rows(call.in(kB).subspan(batch * k * n, k * n), k, n, attributes.boolean("transpose_b"));
    for (std::int64_t i = 0; i < m; ++i) {
      Doubles sums(n, 0.0);
      for (std::int64_t p = 0; p < k; ++p) {
        const double factor = a[i * k + p];
        for (std::int64_t j = 0; j < n; ++j) sums[j] += factor * b[p * n + j];
      }
      for (std::int64_t j = 0; j < n; ++j) {
        const double x = alpha * sums[j] + (call.has(kBias) ? call.in(kBias)[j] : 0);
        const std::int64_t element = (batch * m + i) * n + j;
        call.out(0)[element] = activation == Activation::kNone ? x : gelu_value(activation, x);
        if (call.output_count() > 1) call.out(1)[element] = x;
      }
    }
  }
}

}  // namespace nadi::inline engines
