// Layer norm and RMS norm over the last axis. Letters: C the extent of that axis.
#include <cmath>

#include "nadi/reference/kernel.h"

namespace nadi::inline engines {

void layer_norm_kernel(KernelCall& call) {
  const std::span<const double> weight = call.in(1), bias = call.in(2);
  const std::size_t C = weight.size();
  const double width = static_cast<double>(C);
  const double epsilon = call.attributes().real("epsilon");
  for (std::size_t row = 0; row < call.in(0).size() / C; ++row) {
    const std::span<const double> x = call.in(0).subspan(row * C, C);
    double mean = 0, variance = 0;
    for (const double value : x) mean += value / width;
    for (const double value : x) variance += (value - mean) * (value - mean) / width;
    const double reciprocal_deviation = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < C; ++i)
      call.out(0)[row * C + i] = (x[i] - mean) * reciprocal_deviation * weight[i] + bias[i];
    call.out(1)[row] = mean;
    call.out(2)[row] = reciprocal_deviation;
  }
}

// With n = (x - mean) / deviation and g = dy * weight:
//   dx = (g - mean(g) - n mean(g n)) / deviation,   d weight = sum of dy n,   d bias = sum of dy.
void layer_norm_grad_kernel(KernelCall& call) {
  const std::span<const double> weight = call.in(1);
  const std::size_t C = weight.size();
  const double width = static_cast<double>(C);
  for (std::size_t row = 0; row < call.in(0).size() / C; ++row) {
    const std::span<const double> x = call.in(0).subspan(row * C, C);
    const std::span<const double> dy = call.in(4).subspan(row * C, C);
    const double mean = call.in(2)[row], reciprocal_deviation = call.in(3)[row];
    const auto normed = [&](std::size_t i) { return (x[i] - mean) * reciprocal_deviation; };
    double mean_g = 0, mean_gn = 0;
    for (std::size_t i = 0; i < C; ++i) {
      mean_g += dy[i] * weight[i] / width;
      mean_gn += dy[i] * weight[i] * normed(i) / width;
    }
    for (std::size_t i = 0; i < C; ++i) {
      call.out(0)[row * C + i] = (dy[i] * weight[i] - mean_g - normed(i) * mean_gn) * reciprocal_deviation;
      call.out(1)[i] += dy[i] * normed(i);
      call.out(2)[i] += dy[i];
    }
  }
}

void rms_norm_kernel(KernelCall& call) {
  const std::span<const double> weight = call.in(1);
  const std::size_t C = weight.size();
  const double epsilon = call.attributes().real("epsilon");
  for (std::size_t row = 0; row < call.in(0).size() / C; ++row) {
    const std::span<const double> x = call.in(0).subspan(row * C, C);
    double mean_square = 0;
    for (const double value : x) mean_square += value * value / static_cast<double>(C);
    const double reciprocal_root = 1 / std::sqrt(mean_square + epsilon);
    for (std::size_t i = 0; i < C; ++i) call.out(0)[row * C + i] = x[i] * reciprocal_root * weight[i];
    call.out(1)[row] = reciprocal_root;
  }
}

// With n = x / root and g = dy * weight:  dx = (g - n mean(g n)) / root,   d weight = sum of dy n.
void rms_norm_grad_kernel(KernelCall& call) {
  const std::span<const double> weight = call.in(1);
  const std::size_t C = weight.size();
  for (std::size_t row = 0; row < call.in(0).size() / C; ++row) {
    const std::span<const double> x = call.in(0).subspan(row * C, C);
    const std::span<const double> dy = call.in(3).subspan(row * C, C);
    const double reciprocal_root = call.in(2)[row];
    double mean_gn = 0;
    for (std::size_t i = 0; i < C; ++i)
      mean_gn += dy[i] * weight[i] * x[i] * reciprocal_root / static_cast<double>(C);
    for (std::size_t i = 0; i < C; ++i) {
      const double normed = x[i] * reciprocal_root;
      call.out(0)[row * C + i] = (dy[i] * weight[i] - normed * mean_gn) * reciprocal_root;
      call.out(1)[i] += dy[i] * normed;
    }
  }
}

}  // namespace nadi::inline engines
