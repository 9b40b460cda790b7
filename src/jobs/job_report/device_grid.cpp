#include "nadi/job_report/device_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nadi/job_log/job_log.h"

namespace nadi::inline jobs {
namespace {

constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kLeastGridColumns = 32;
constexpr double kMebibyte = 1024.0 * 1024.0;

// A mean over samples that stand for several each.
class GridMean {
 public:
  explicit GridMean(std::int64_t columns) : sums_(columns, 0), weights_(columns, 0) {}

  void add(std::int64_t column, const std::optional<float>& value, std::int64_t samples) {
    if (!value) return;
    sums_[column] += static_cast<double>(*value) * static_cast<double>(samples);
    weights_[column] += static_cast<double>(samples);
  }

  bool empty() const {
    return std::ranges::all_of(weights_, [](double weight) { return weight == 0; });
  }

  std::vector<float> values() const {
    std::vector<float> values;
    values.reserve(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i)
      values.push_back(weights_[i] == 0 ? kNoFigure : static_cast<float>(sums_[i] / weights_[i]));
    return values;
  }

  std::optional<double> whole() const {
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      sum += sums_[i];
      weight += weights_[i];
    }
    return weight == 0 ? std::nullopt : std::optional(sum / weight);
  }

 private:
  std::vector<double> sums_, weights_;
};

void raise(float& place, float value) {
  if (std::isnan(place) || value > place) place = value;
}

std::int64_t position_of(const DeviceSample& sample, bool by_time) {
  return by_time ? *sample.time : sample.sequence;
}

void fill(GridDevice& device, const DeviceLog& log, const DeviceGrid& grid) {
  GridMean utilisation(grid.columns), power(grid.columns);
  device.temperature.assign(grid.columns, kNoFigure);
  device.memory.assign(grid.columns, kNoFigure);
  for (const DeviceSample& sample : log.samples) {
    const auto offset = static_cast<double>(position_of(sample, grid.by_time) - grid.begin);
    const std::int64_t column =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(offset / grid.step), 0, grid.columns - 1);
    device.samples += sample.samples;
    utilisation.add(column, sample.utilisation, sample.samples);
    power.add(column, sample.power, sample.samples);
    if (sample.temperature) {
      raise(device.temperature[column], *sample.temperature);
      device.most_temperature =
          std::max(device.most_temperature.value_or(-1e9), static_cast<double>(*sample.temperature));
    }
    if (sample.memory_used) {
      raise(device.memory[column],
            static_cast<float>(static_cast<double>(sample.memory_used->count()) / kMebibyte));
      device.most_memory = std::max(device.most_memory.value_or(Bytes{}), *sample.memory_used);
    }
    // NVML: 1 is "idle", which is no throttling.
    device.throttled = device.throttled || (sample.throttle & ~std::uint64_t{1}) != 0;
  }
  device.utilisation = utilisation.values();
  device.mean_utilisation = utilisation.whole();
  if (!power.empty()) device.power = power.values();
}

}  // namespace

DeviceGrid device_grid(const JobLog& log) {
  DeviceGrid grid;
  grid.by_time = true;
  std::int64_t devices = 0, most_samples = 0;
  for (const NodeLog& node : log.nodes)
    for (const DeviceLog& device : node.devices) {
      ++devices;
      most_samples = std::max(most_samples, static_cast<std::int64_t>(device.samples.size()));
      for (const DeviceSample& sample : device.samples)
        grid.by_time = grid.by_time && sample.time.has_value();
    }
  if (most_samples == 0) return {};
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(),
               end = std::numeric_limits<std::int64_t>::min();
  std::int64_t stood_for = 1;  // samples in the fullest entry of a log
  for (const NodeLog& node : log.nodes)
    for (const DeviceLog& device : node.devices)
      for (const DeviceSample& sample : device.samples) {
        begin = std::min(begin, position_of(sample, grid.by_time));
        end = std::max(end, position_of(sample, grid.by_time));
        stood_for = std::max(stood_for, sample.samples);
      }
  grid.begin = begin;
  const std::int64_t most =
      std::clamp<std::int64_t>(kMostGridCells / devices, kLeastGridColumns, kMostGridColumns);
  // As many columns as one device has samples: samples of a node are taken together.
  grid.columns = std::min(most, most_samples);
  grid.step =
      grid.columns <= 1 ? 1 : static_cast<double>(end - begin) / static_cast<double>(grid.columns - 1);
  if (!(grid.step > 0)) {
    grid.step = 1;
    grid.columns = 1;
  }
  grid.merged = stood_for > 1 || grid.columns < most_samples;
  for (std::size_t place = 0; place < log.nodes.size(); ++place)
    for (const DeviceLog& device : log.nodes[place].devices) {
      GridDevice& made = grid.devices.emplace_back(GridDevice{.node = place,
                                                              .node_name = log.nodes[place].name,
                                                              .is_gpu = device.kind == DeviceLog::Kind::kGpu,
                                                              .index = device.index,
                                                              .name = device.name,
                                                              .memory_total = device.memory_total});
      fill(made, device, grid);
    }
  return grid;
}

}  // namespace nadi::inline jobs
