// What experts compute on their rows. Letters: E experts, R rows, K inner extent, N columns, W width.
#include <cmath>

#include "nadi/graph/ops/expert_activations.h"
#include "nadi/graph/ops/grouped_matmul.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// body(expert, row) for every row in use.
template <class Body>
void each_row(const KernelCall& call, std::size_t counts, const Body& body) {
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < call.shape(counts).elements(); ++e)
    for (const std::int64_t end = row + call.integer(counts, e); row < end; ++row) body(e, row);
}

}  // namespace

void grouped_matmul_kernel(KernelCall& call) {
  using namespace grouped_matmul_input;
  const bool transposed = call.attributes().boolean("transpose_b");
  const std::int64_t K = call.shape(kA)[1], N = call.shape(kB)[transposed ? 1 : 2];
  each_row(call, kCounts, [&](std::int64_t e, std::int64_t row) {
    const std::span<const double> b = call.in(kB).subspan(e * K * N, K * N);
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t i = 0; i < K; ++i)
        call.out(0)[row * N + n] += call.in(kA)[row * K + i] * b[transposed ? n * K + i : i * N + n];
  });
}

void grouped_matmul_grad_kernel(KernelCall& call) {
  using namespace grouped_matmul_grad_input;
  const bool transposed = call.attributes().boolean("transpose_b");
  const std::int64_t K = call.shape(kA)[1], N = call.shape(kGradient)[1];
  each_row(call, kCounts, [&](std::int64_t e, std::int64_t row) {
    const std::span<double> db = call.out(0).subspan(e * K * N, K * N);
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t i = 0; i < K; ++i)
        db[transposed ? n * K + i : i * N + n] += call.in(kA)[row * K + i] * call.in(kGradient)[row * N + n];
  });
}

void weighted_swiglu_kernel(KernelCall& call) {
  using namespace weighted_swiglu_input;
  const std::int64_t W = call.shape(kGate)[1];
  each_row(call, kCounts, [&](std::int64_t, std::int64_t row) {
    for (std::int64_t i = row * W; i < (row + 1) * W; ++i) {
      const double g = call.in(kGate)[i];
      call.out(0)[i] = g * sigmoid(g) * call.in(kUp)[i] * call.in(kWeights)[row];
    }
  });
}

void weighted_swiglu_grad_kernel(KernelCall& call) {
  using namespace weighted_swiglu_input;
  const std::int64_t W = call.shape(kGate)[1];
  each_row(call, kCounts, [&](std::int64_t, std::int64_t row) {
    const double weight = call.in(kWeights)[row];
    for (std::int64_t i = row * W; i < (row + 1) * W; ++i) {
      const double g = call.in(kGate)[i], s = sigmoid(g), up = call.in(kUp)[i], dy = call.in(kGradient)[i];
      call.out(0)[i] = dy * weight * up * s * (1 + g * (1 - s));
      call.out(1)[i] = dy * weight * g * s;
      call.out(2)[row] += dy * g * s * up;
    }
  });
}

void sigmoid_gate_kernel(KernelCall& call) {
  const std::int64_t W = call.shape(0)[-1];
  for (std::size_t i = 0; i < call.in(0).size(); ++i)
    call.out(0)[i] = call.in(0)[i] * sigmoid(call.in(1)[i / W]);
}

void sigmoid_gate_grad_kernel(KernelCall& call) {
  const std::int64_t W = call.shape(0)[-1];
  for (std::size_t i = 0; i < call.in(0).size(); ++i) {
    const double s = sigmoid(call.in(1)[i / W]), dy = call.in(2)[i];
    call.out(0)[i] = dy * s;
    call.out(1)[i / W] += dy * call.in(0)[i] * s * (1 - s);
  }
}

}  // namespace nadi::inline engines
