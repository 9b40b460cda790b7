// SGD-SaI. A step is one pass over parameter, gradient and momentum; only while the scale of the learning
// rate is still to be taken, a pass over the gradient alone comes before it.
//
// That pass sums d = g - g[0] and d^2 besides g^2: the squared deviations are sum d^2 - (sum d)^2 / n, which
// is 0 when all elements are equal, and loses no more than n rounding errors to cancellation, since one
// element so far off makes the deviation itself that large. Sums are those of double precision, by thread.
#include <cmath>

#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/graph/ops/sgd_sai.h"

namespace nadi::inline engines::cpu {
namespace {

using namespace sgd_sai_input;

struct alignas(64) GradientSums {  // a cache line per thread
  double squares = 0;
  double shifted = 0;
  double shifted_squares = 0;

  void add(const GradientSums& other) {
    squares += other.squares;
    shifted += other.shifted;
    shifted_squares += other.shifted_squares;
  }
};

GradientSums sums_of(const float* gradient, std::int64_t count, double shift) {
  double squares = 0, shifted = 0, shifted_squares = 0;
#pragma omp simd reduction(+ : squares, shifted, shifted_squares)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const double d = g - shift;
    squares += g * g;
    shifted += d;
    shifted_squares += d * d;
  }
  return {squares, shifted, shifted_squares};
}

float lr_scale_of(const KernelCall& call, double grad_scale) {
  const std::int64_t elements = call.inputs[kGradient].elements();
  if (elements == 1) return 1;
  const Source gradient(call.inputs[kGradient]);
  Block first_block;
  const auto shift = static_cast<double>(gradient.load(0, 1, first_block)[0]);
  auto* sums = call.workspace_of<GradientSums>(0, 0);
  const int threads = worthwhile_threads(elements, call.threads);
  std::fill_n(sums, threads, GradientSums{});
  const std::int64_t blocks = divided_up(elements, kBlock);
  parallel_for(blocks, threads, [&](std::int64_t first, std::int64_t end, int thread) {
    GradientSums own;
    walk_blocks(first * kBlock, std::min(end * kBlock, elements), [&](std::int64_t from, std::int64_t count) {
      Block buffer;
      own.add(sums_of(gradient.load(from, count, buffer), count, shift));
    });
    sums[thread] = own;
  });
  GradientSums all;
  for (int thread = 0; thread < threads; ++thread) all.add(sums[thread]);
  const auto n = static_cast<double>(elements);
  const double deviations = all.shifted_squares - all.shifted * all.shifted / n;
  // std::max(x, 0) of NaN is NaN: a gradient that is no number must not look like one.
  const double deviation = std::sqrt(std::max(deviations, 0.0) / (n - 1)) * std::abs(grad_scale);
  const double norm = std::sqrt(all.squares) * std::abs(grad_scale);
  return static_cast<float>(norm / (deviation + kSgdSaiEpsilon));
}

void keep(const KernelCall& call, std::size_t input, std::size_t output) {
  transfer(Source(call.inputs[input]), 0, Target(call, output), 0, call.inputs[input].elements());
}

std::int64_t sgd_sai_workspace(const OpView&, int threads) {
  return threads * static_cast<std::int64_t>(sizeof(GradientSums));
}

void sgd_sai_kernel(const KernelCall& call) {
  const bool has_momentum = call.has(kMomentum), has_master = call.has(kMaster);
  const std::size_t master_output = has_momentum ? 3 : 2;
  if (call.scalar_or(kFoundInf, 0) != 0) {
    keep(call, kParameter, 0);
    keep(call, kLrScale, 1);
    if (has_momentum) keep(call, kMomentum, 2);
    if (has_master) keep(call, kMaster, master_output);
    return;
  }
  const float grad_scale = call.scalar_or(kGradScale, 1);
  float lr_scale = call.scalar(kLrScale);
  if (lr_scale == 0) lr_scale = lr_scale_of(call, grad_scale);
  Target(call, 1).put(0, 1, &lr_scale);

  const auto learning_rate = static_cast<double>(call.scalar(kLearningRate));
  const double weight_decay =
      call.attributes().real("weight_decay") * static_cast<double>(call.scalar_or(kDecayFactor, 1));
  const double momentum = call.attributes().real("momentum");
  const auto remaining = static_cast<float>(1 - learning_rate * weight_decay);
  const auto rate = static_cast<float>(learning_rate * static_cast<double>(lr_scale));
  const auto old_part = static_cast<float>(momentum);
  const auto new_part = static_cast<float>(1 - momentum) * grad_scale;
  const Target parameter(call, 0), kept(call, has_master ? master_output : 0);
  const Source old_parameter(call.inputs[has_master ? kMaster : kParameter]),
      gradient(call.inputs[kGradient]);
  for_each_block(call.inputs[kParameter].elements(), call.threads,
                 [&](std::int64_t first, std::int64_t count) {
                   Block p_buffer, g_buffer, u_buffer, new_p_buffer, new_u_buffer;
                   const float* p = old_parameter.load(first, count, p_buffer);
                   const float* g = gradient.load(first, count, g_buffer);
                   float* to = kept.begin(first, new_p_buffer);
                   if (has_momentum) {
                     const Target momentum_target(call, 2);
                     const float* u = Source(call.inputs[kMomentum]).load(first, count, u_buffer);
                     float* to_u = momentum_target.begin(first, new_u_buffer);
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) {
                       const float now = old_part * u[i] + new_part * g[i];
                       to[i] = remaining * p[i] - rate * now;
                       to_u[i] = now;
                     }
                     momentum_target.end(first, count, to_u);
                   } else {
                     const float step = rate * grad_scale;
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) to[i] = remaining * p[i] - step * g[i];
                   }
                   if (has_master) parameter.put(first, count, to);
                   kept.end(first, count, to);
                 });
}

}  // namespace

const KernelEntry sgd_sai_entry{sgd_sai_kernel, sgd_sai_workspace};

}  // namespace nadi::inline engines::cpu
