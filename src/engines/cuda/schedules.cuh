// Learning rate and weight decay of a step, computed on the device: the host may not know yet which update a
// step makes. The arithmetic is that of graph/learning_rate.cpp, operation by operation and without fused
// multiply-adds, in double precision, so that rounded to fp32 it has the bits that the host's log has.
#pragma once

#include <cuda_runtime.h>

#include "nadi/graph/learning_rate.h"

namespace nadi::inline engines::cuda {

// a + b * c, rounded twice as the host does.
__device__ inline double plus_product(double a, double b, double c) {
  return __dadd_rn(a, __dmul_rn(b, c));
}

__device__ inline double limited_part(double part) {
  return part < 0 ? 0 : part > 1 ? 1 : part;
}

// Cosine of 0 to pi. Near both ends it is taken as 1 - 2 sin^2, where hardly more than the last rounding is
// lost: there 1 + cos or 1 - cos goes into a rate, and an error of one unit in the last place would show.
__device__ inline double schedule_cosine(double angle) {
  constexpr double kPi = 3.141592653589793, kPiRest = 1.2246467991473532e-16;
  constexpr double kNear = 0.5;
  if (angle > kNear && angle < kPi - kNear) return cos(angle);
  const double rest = angle <= kNear ? angle : (kPi - angle) + kPiRest;
  const double sine = sin(rest / 2);
  const double cosine = __dsub_rn(1.0, __dmul_rn(2.0, __dmul_rn(sine, sine)));
  return angle <= kNear ? cosine : -cosine;
}

// 1 at the start of a way, 0 at its end.
__device__ inline double half_wave(double part) {
  return 0.5 * (1 + schedule_cosine(__dmul_rn(3.141592653589793, part)));
}

struct Schedules {
  LearningRate rate;
  WeightDecaySchedule decay;
  double full_weight_decay;  // 0 means the factor is 1

  __device__ double learning_rate(double done) const {
    const double risen = rate.late_warmup ? done : done + 1;
    if (risen <= rate.warmup && rate.warmup > 0)
      return rate.start + __dmul_rn(rate.peak - rate.start, risen) / rate.warmup;
    const double end = rate.decay_end > 0 ? rate.decay_end : rate.total;
    const double part = limited_part((done - rate.warmup) / fmax(end - rate.warmup, 1.0));
    const double way = rate.peak - rate.minimum;
    switch (rate.decay) {
      case Decay::kLinear:
        return plus_product(rate.minimum, way, 1 - part);
      case Decay::kCosine:
        return plus_product(rate.minimum, way, half_wave(part));
      case Decay::kConstant:
        break;
      case Decay::kInverseSquareRoot:
        if (done > end) return rate.minimum;
        return fmax(rate.minimum, __dmul_rn(rate.peak, sqrt(fmax(rate.warmup, 1.0) / fmax(done, 1.0))));
      case Decay::kWarmupStableDecay: {
        const double fallen = done - (end - rate.stable_decay_length);
        if (fallen <= 0) return rate.peak;
        return plus_product(rate.minimum, way, left_at_end(fmin(fallen / rate.stable_decay_length, 1.0)));
      }
    }
    return rate.peak;
  }

  __device__ double decay_factor(double done) const {
    return full_weight_decay == 0 ? 1 : weight_decay(done) / full_weight_decay;
  }

 private:
  __device__ double left_at_end(double part) const {
    switch (rate.stable_decay) {
      case StableDecay::kExponential:
        return 2 * pow(0.5, part) - 1;
      case StableDecay::kLinear:
        return 1 - part;
      case StableDecay::kCosine:
        return half_wave(part);
      case StableDecay::kMinusSquareRoot:
        break;
    }
    return 1 - sqrt(part);
  }

  __device__ double weight_decay(double done) const {
    const double part = limited_part(done / decay.length);
    const double way = decay.end - decay.start;
    switch (decay.growth) {
      case WeightDecayGrowth::kLinear:
        return plus_product(decay.start, way, part);
      case WeightDecayGrowth::kCosine:
        return plus_product(decay.start, way, 1 - half_wave(part));
      case WeightDecayGrowth::kConstant:
        break;
    }
    return decay.end;
  }
};

}  // namespace nadi::inline engines::cuda
