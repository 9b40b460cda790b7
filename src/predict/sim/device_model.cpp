#include "nadi/sim/device_model.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/sim/device_measured.h"

namespace nadi::inline predict {

DeviceModel::DeviceModel(const DeviceSpec& device) : device_(device) {
  if (!device.measured.empty()) measured_ = std::make_shared<const MeasuredTimes>(device.measured);
}

OpTime DeviceModel::time_of(const OpWork& work) const {
  if (measured_ != nullptr)
    if (const auto time = measured_->time_of(work, [this](const OpWork& w) { return modelled(w).time; }))
      return *time;
  return modelled(work);
}

Nanoseconds DeviceModel::communication_issue() const {
  return from_seconds(device_.curve.collective_issue_us * 1e-6);
}

double DeviceModel::product_seconds(const OpWork& work) const {
  // Tiles of the fastest kernels of matrix libraries; smaller ones exist, but reach less of the peak.
  constexpr std::int64_t kTileRows = 256, kTileColumns = 128;
  const DeviceCurve& curve = device_.curve;
  const ProductShape& product = work.product;
  const auto cover = [](std::int64_t m, std::int64_t n) {
    return ((m + kTileRows - 1) / kTileRows) * ((n + kTileColumns - 1) / kTileColumns);
  };
  const double units = static_cast<double>(device_.units);
  const double k = static_cast<double>(product.k);
  const double tiles = static_cast<double>(
      product.batches * std::min(cover(product.m, product.n), cover(product.n, product.m)));
  const double parts = std::max(1.0, std::floor(std::min(units / tiles, k / curve.split_depth)));
  const double waves = std::ceil(tiles * parts / units);
  const double per_tile = 2.0 * kTileRows * kTileColumns * (k / parts + curve.depth_ramp);
  return waves * per_tile * units / (device_.peak(work.dtype).per_second() * curve.matrix_efficiency);
}

double DeviceModel::memory_seconds(const OpWork& work) const {
  const double share =
      device_.curve.bandwidth_efficiency *
      (work.core_attention && work.product.batches == 0 ? device_.curve.score_efficiency : 1);
  return static_cast<double>((work.read + work.written).count()) /
         (device_.memory_bandwidth.per_second() * share);
}

OpTime DeviceModel::modelled(const OpWork& work) const {
  const DeviceCurve& curve = device_.curve;
  double seconds = memory_seconds(work);
  if (work.matrix > Flops{}) {
    const FlopRate peak = device_.peak(work.dtype);
    if (peak == FlopRate{})
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("{} has no matrix products of type {}", device_.name, to_string(work.dtype)),
                  "choose another --dtype"};
    if (work.kind == OpKind::kAttention || work.kind == OpKind::kAttentionGrad) {
      const double efficiency =
          work.kind == OpKind::kAttention ? curve.attention_efficiency : curve.attention_gradient_efficiency;
      seconds =
          std::max(seconds, static_cast<double>(work.matrix.count()) / (peak.per_second() * efficiency));
    } else if (work.product.batches > 0) {
      seconds = std::max(seconds, product_seconds(work));
    } else {
      seconds = std::max(
          seconds, static_cast<double>(work.matrix.count()) / (peak.per_second() * curve.matrix_efficiency));
    }
  } else if (work.vector > Flops{} && device_.vector_peak > FlopRate{}) {
    seconds = std::max(seconds, static_cast<double>(work.vector.count()) / device_.vector_peak.per_second());
  }
  const double besides_us = work.kind == OpKind::kNextUpdate  ? curve.step_us
                            : work.phase == Phase::kOptimizer ? 0
                                                              : curve.kernel_gap_us;
  const Nanoseconds time = from_seconds(seconds + besides_us * 1e-6);
  const double issue_us = work.phase == Phase::kOptimizer  ? 0
                          : work.phase == Phase::kBackward ? curve.backward_issue_us
                                                           : curve.forward_issue_us;
  const Nanoseconds least = work.phase == Phase::kOptimizer ? Nanoseconds{} : device_.launch_overhead;
  return {.time = std::max(time, least), .issue = from_seconds(issue_us * 1e-6)};
}

}  // namespace nadi::inline predict
