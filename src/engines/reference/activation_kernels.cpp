#include <cmath>
#include <numbers>

#include "nadi/base/error.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

// The tanh form is 0.5 x (1 + tanh(u)) with u = kSlope (x + kCubic x^3).
const double kSlope = std::sqrt(2 / std::numbers::pi);
constexpr double kCubic = 0.044715;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

double gelu_value(Activation form, double x) {
  switch (form) {
    case Activation::kNone:
      return x;
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kSlope * (x + kCubic * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  }
  unreachable();
}

double gelu_slope(Activation form, double x) {
  switch (form) {
    case Activation::kNone:
      return 1;
    case Activation::kGeluTanh: {
      const double t = std::tanh(kSlope * (x + kCubic * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
    }
    case Activation::kGeluErf: {
      // Distribution function and density of the standard normal.
      const double distribution = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
      return distribution + x * density;
    }
  }
  unreachable();
}

void gelu_kernel(KernelCall& call) {
  const Activation form = activation_named(call.attributes().text("form"));
  for (std::size_t i = 0; i < call.in(0).size(); ++i) call.out(0)[i] = gelu_value(form, call.in(0)[i]);
}

void gelu_grad_kernel(KernelCall& call) {
  const Activation form = activation_named(call.attributes().text("form"));
  const std::span<const double> x = call.in(0), dy = call.in(1);
  for (std::size_t i = 0; i < x.size(); ++i) call.out(0)[i] = gelu_slope(form, x[i]) * dy[i];
}

void swiglu_kernel(KernelCall& call) {
  const std::span<const double> gate = call.in(0), up = call.in(1);
  for (std::size_t i = 0; i < gate.size(); ++i) call.out(0)[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

// silu(g) = g s with s = sigmoid(g), s' = s (1 - s), hence silu'(g) = s (1 + g (1 - s)).
void swiglu_grad_kernel(KernelCall& call) {
  const std::span<const double> gate = call.in(0), up = call.in(1), dy = call.in(2);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i], s = sigmoid(g);
    call.out(0)[i] = dy[i] * up[i] * s * (1 + g * (1 - s));
    call.out(1)[i] = dy[i] * g * s;
  }
}

}  // namespace nadi::inline engines
