#include "curve_fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <map>
#include <thread>

namespace nadi {
namespace {

constexpr double kFirstStep = 0.3, kShrink = 0.5;

}  // namespace

PredictedRow::PredictedRow(const PublishedRow& row)
    : row_(row), programs_(row.config, row.request, row.plan) {}

double PredictedRow::predict(const DeviceCurve& curve) {
  for (DeviceSpec& device : row_.cluster.devices) device.curve = curve;
  return to_seconds(
      simulate_step(programs_, row_.cluster, {.overlap = row_.overlap, .keep_times = false}).iteration_time);
}

std::vector<double> errors_of(std::span<PredictedRow* const> rows, const DeviceCurve& curve) {
  std::vector<double> errors(rows.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) errors[i] = rows[i]->error(curve);
  };
  std::vector<std::future<void>> others;
  for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t)
    others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
  return errors;
}

double CurveFit::loss(const DeviceCurve& curve) {
  std::map<std::string, std::pair<double, int>> by_source;
  const std::vector<double> errors = errors_of(rows_, curve);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto& [sum, count] = by_source[rows_[i]->row().source];
    sum += std::min(0.25, std::abs(std::log1p(errors[i])));
    ++count;
  }
  double total = 0;
  for (const auto& [source, part] : by_source) total += part.first / part.second;
  return total / static_cast<double>(by_source.size());
}

DeviceCurve CurveFit::search(DeviceCurve curve, std::span<const CurveMember> constants, int rounds) {
  double best = loss(curve), step = kFirstStep;
  for (int round = 0; round < rounds; ++round, step *= kShrink) {
    for (const CurveMember constant : constants) {
      const auto bounds = std::ranges::find_if(curve_constants(),
                                               [&](const CurveConstant& c) { return c.value == constant; });
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        DeviceCurve tried = curve;
        tried.*constant = std::clamp(curve.*constant * factor, bounds->least, bounds->most);
        const double found = loss(tried);
        if (found >= best) continue;
        best = found;
        curve = tried;
        break;
      }
    }
  }
  return curve;
}

}  // namespace nadi
