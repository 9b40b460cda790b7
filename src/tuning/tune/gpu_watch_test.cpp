#include "nadi/tune/gpu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline tuning {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(GpuLine, HasSixFieldsAndMayLackFigures) {
  const auto sample = parse_gpu_line("1, NVIDIA H100, 80GB HBM3, 49, 97, 1000, 81559");
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->index, 1);
  EXPECT_EQ(sample->temperature_celsius, 49);
  EXPECT_EQ(sample->utilisation_percent, 97);
  EXPECT_EQ(sample->memory_total_mib, 81559);
  EXPECT_FALSE(parse_gpu_line("0, NVIDIA A10, [N/A], 0, 0, 22731")->temperature_celsius);
  EXPECT_FALSE(parse_gpu_line("No devices were found"));
}

TEST(GpuJudge, EndsTrialsByMemoryTemperatureAndIdleness) {
  const GpuSample busy{
      .temperature_celsius = 60, .utilisation_percent = 90, .memory_used_mib = 500, .memory_total_mib = 1000};
  GpuSample full = busy;
  full.memory_used_mib = 960;
  GpuSample idle = busy;
  idle.utilisation_percent = 10;
  GpuJudge judge({.memory_share = 0.95,
                  .least_utilisation = 60,
                  .temperature = 80,
                  .settling = milliseconds(1000),
                  .samples = 2});
  EXPECT_FALSE(judge.judge({busy, busy}, milliseconds(2000)));
  EXPECT_THAT(judge.judge({busy, full}, milliseconds(0)).value_or(""), HasSubstr("960 of 1000 MiB in use"));
  GpuSample hot = busy;
  hot.temperature_celsius = 81;
  EXPECT_THAT(judge.judge({hot}, milliseconds(0)).value_or(""), HasSubstr("81 °C"));
  // The mean of 90 and 10 is 50%, below 60; before the trial has settled it does not count.
  EXPECT_FALSE(judge.judge({busy, idle}, milliseconds(500)));
  EXPECT_FALSE(judge.judge({busy, idle}, milliseconds(1500))) << "once";
  EXPECT_FALSE(judge.judge({busy, busy}, milliseconds(2000))) << "busy again";
  EXPECT_FALSE(judge.judge({busy, idle}, milliseconds(2500)));
  EXPECT_THAT(judge.judge({busy, idle}, milliseconds(3000)).value_or(""),
              HasSubstr("busy for 50% of the time"));
}

TEST(GpuWatch, AsksNvidiaSmi) {
  const TemporaryFolder folder;
  write_text(folder.path() / "nvidia-smi", "#!/bin/sh\necho '0, NVIDIA A10, 49, 50, 22000, 22731'\n");
  std::filesystem::permissions(folder.path() / "nvidia-smi", std::filesystem::perms::owner_all);
  const TemporaryVariable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  GpuWatch watch({.memory_share = 0.9, .interval = milliseconds(10)});
  std::optional<std::string> reason;
  for (int i = 0; i < 1000 && !reason; ++i) {
    reason = watch.poll();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_THAT(reason.value_or(""), HasSubstr("22000 of 22731 MiB"));
  EXPECT_EQ(watch.peak_memory_mib(), 22000);
}

TEST(GpuWatch, LimitsNeedNvidiaSmi) {
  const TemporaryFolder folder;
  const TemporaryVariable path("PATH", folder.path().string());
  EXPECT_THROW(GpuWatch({.temperature = 80}), Error);
  GpuWatch none(GpuLimits{});
  EXPECT_FALSE(none.poll());
}

}  // namespace
}  // namespace nadi::inline tuning
