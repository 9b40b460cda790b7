#include "nadi/job_report/device_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/job_log/job_log.h"

namespace nadi::inline jobs {
namespace {

DeviceSample sample_of(std::int64_t sequence, float use, float heat) {
  return {
      .sequence = sequence, .utilisation = use, .temperature = heat, .memory_used = 2_MiB * (sequence + 1)};
}

JobLog log_of(std::vector<DeviceSample> samples) {
  JobLog log;
  log.nodes.push_back({.name = "n1"});
  log.nodes[0].devices.push_back({.index = 3, .name = "NVIDIA A10", .samples = std::move(samples)});
  return log;
}

TEST(DeviceGrid, HasAColumnForEachSample) {
  const DeviceGrid grid =
      device_grid(log_of({sample_of(0, 10, 40), sample_of(1, 30, 50), sample_of(2, 20, 45)}));
  ASSERT_EQ(grid.devices.size(), 1u);
  EXPECT_EQ(grid.columns, 3);
  EXPECT_FALSE(grid.by_time);
  EXPECT_FALSE(grid.merged);
  EXPECT_EQ(grid.devices[0].utilisation, (std::vector<float>{10, 30, 20}));
  EXPECT_EQ(grid.devices[0].temperature, (std::vector<float>{40, 50, 45}));
  EXPECT_EQ(grid.devices[0].memory, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(grid.devices[0].mean_utilisation, 20);
  EXPECT_EQ(grid.devices[0].most_temperature, 50);
  EXPECT_EQ(grid.devices[0].most_memory, 6_MiB);
  EXPECT_EQ(grid.devices[0].index, 3);
}

TEST(DeviceGrid, UnknownStaysUnknown) {
  JobLog log = log_of({sample_of(0, 10, 40), sample_of(1, 30, 50)});
  log.nodes[0].devices[0].samples[1].utilisation.reset();
  const DeviceGrid grid = device_grid(log);
  EXPECT_TRUE(std::isnan(grid.devices[0].utilisation[1]));
  EXPECT_EQ(grid.devices[0].mean_utilisation, 10) << "a sample without a figure has no share in the mean";
}

TEST(DeviceGrid, StandsOnOneClock) {
  JobLog log = log_of({sample_of(0, 10, 40), sample_of(1, 30, 50)});
  log.nodes[0].devices[0].samples[0].time = 1000;
  log.nodes[0].devices[0].samples[1].time = 1010;
  log.nodes.push_back({.name = "n2"});
  log.nodes[1].devices.push_back({.samples = {sample_of(0, 50, 60)}});
  log.nodes[1].devices[0].samples[0].time = 1010;
  const DeviceGrid grid = device_grid(log);
  EXPECT_TRUE(grid.by_time);
  EXPECT_EQ(grid.begin, 1000);
  EXPECT_EQ(grid.step, 10);
  ASSERT_EQ(grid.columns, 2);
  EXPECT_TRUE(std::isnan(grid.devices[1].utilisation[0]));
  EXPECT_EQ(grid.devices[1].utilisation[1], 50);
}

// 300 devices of 512 samples would be 153,600 cells: fewer columns, each of several samples.
TEST(DeviceGrid, IsBounded) {
  JobLog log;
  for (int node = 0; node < 300; ++node) {
    log.nodes.push_back({.name = "n" + std::to_string(node)});
    DeviceLog& device = log.nodes.back().devices.emplace_back();
    for (std::int64_t i = 0; i < 512; ++i)
      device.samples.push_back(sample_of(i, static_cast<float>(i % 2 * 100), 50));
  }
  const DeviceGrid grid = device_grid(log);
  EXPECT_TRUE(grid.merged);
  EXPECT_LE(grid.columns * static_cast<std::int64_t>(grid.devices.size()), kMostGridCells);
  EXPECT_EQ(grid.devices[0].samples, 512);
  EXPECT_NEAR(*grid.devices[0].mean_utilisation, 50, 1e-9) << "of all samples, whatever the columns are";
}

TEST(DeviceGrid, OfNothingIsEmpty) {
  EXPECT_EQ(device_grid(log_of({})).columns, 0);
  EXPECT_EQ(device_grid({}).columns, 0);
}

}  // namespace
}  // namespace nadi::inline jobs
