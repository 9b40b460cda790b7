#include "nadi/engine/reference/kernel.h"

namespace nadi {
namespace {

enum Input { kA, kB, kBias, kAScale, kBScale };

}  // namespace

// y = activation(alpha * op(a) op(b) + bias); the second output, where there is one, is what went into the
// activation. Letters: m rows and n columns of y, k the inner extent.
void matmul_kernel(KernelCall& call) {
  const auto [batches, m, n, k] = matmul_extents(call.op());
  const Attributes& attributes = call.attributes();
  const bool transpose_a = attributes.boolean("transpose_a");
  const bool transpose_b = attributes.boolean("transpose_b");
  const Activation activation = activation_named(attributes.text("activation"));
  const double alpha = attributes.real("alpha") * call.scalar_or(kAScale, 1) * call.scalar_or(kBScale, 1);

  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::span<const double> a = call.in(kA).subspan(batch * m * k, m * k);
    const std::span<const double> b = call.in(kB).subspan(batch * k * n, k * n);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += (transpose_a ? a[p * m + i] : a[i * k + p]) * (transpose_b ? b[j * k + p] : b[p * n + j]);
        const double x = alpha * sum + (call.has(kBias) ? call.in(kBias)[j] : 0);
        const std::int64_t element = (batch * m + i) * n + j;
        call.out(0)[element] = activation == Activation::kNone ? x : gelu_value(activation, x);
        if (call.output_count() > 1) call.out(1)[element] = x;
      }
    }
  }
}

}  // namespace nadi
