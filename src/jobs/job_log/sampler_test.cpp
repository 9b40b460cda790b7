// The sampler's lines are written by a real shell, with a real or a made-up nvidia-smi, and read again.
#include "nadi/job_log/sampler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "nadi/base/temporary_folder.h"
#include "nadi/job_log/job_log.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

// Samples until the third sample has begun, with `tools` in front of PATH.
NodeLog sample(const TemporaryFolder& folder, const std::string& tools) {
  write_text(folder / "run.sh", std::string(sampler_function()) +
                                    "(tries=0; count=0\n"
                                    "while [ $tries -lt 300 ] && [ \"${count:-0}\" -lt 3 ]; do\n"
                                    "  sleep 0.1; tries=$((tries + 1))\n"
                                    "  count=$(grep -c '^cpu' \"$1\" 2>/dev/null || true)\n"
                                    "done) &\n"
                                    "nadi_sample \"$1\" 0.3 $!\n");
  std::filesystem::create_directories(folder / "job");
  const std::string command = "PATH=" + tools + ":/usr/bin:/bin sh -eu " + (folder / "run.sh").string() +
                              " '" + (folder / "job" / "a node.gpu").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_job_log({folder / "job"}).nodes.at(0);
}

TEST(Sampler, CpusAndMemoryWithoutNvidiaSmi) {
  const TemporaryFolder folder("sampler");
  std::filesystem::create_directories(folder / "tools");
  write_text(folder / "tools" / "nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n");
  ::chmod((folder / "tools" / "nvidia-smi").c_str(), 0755);
  const NodeLog node = sample(folder, (folder / "tools").string());
  EXPECT_EQ(node.name, "a node");
  EXPECT_EQ(node.gpu.damaged_lines, 0);
  ASSERT_EQ(node.devices.size(), 1U);
  const DeviceLog& cpus = node.devices[0];
  EXPECT_EQ(cpus.kind, DeviceLog::Kind::kCpu);
  EXPECT_TRUE(cpus.name.ends_with(" cores") || cpus.name == "1 core") << cpus.name;
  ASSERT_GE(cpus.samples.size(), 2U);
  EXPECT_FALSE(cpus.samples[0].utilisation) << "the first sample has nothing before it";
  EXPECT_TRUE(cpus.last.utilisation);
  EXPECT_GT(cpus.memory_total.value_or(Bytes{}), Bytes{1 << 20});
  EXPECT_LT(cpus.last.memory_used.value_or(Bytes{}), cpus.memory_total.value_or(Bytes{}));
  EXPECT_GT(cpus.last.time.value_or(0), 1'700'000'000);
}

TEST(Sampler, GpusByNvidiaSmi) {
  const TemporaryFolder folder("sampler");
  std::filesystem::create_directories(folder / "tools");
  // As an older driver: no clocks_event_reasons, and a card without a power meter.
  write_text(folder / "tools" / "nvidia-smi",
             "#!/bin/sh\n"
             "case $1 in *event_reasons*) echo 'Field is not a valid field to query.'; exit 2 ;; esac\n"
             "case $1 in *throttle*) ;; *) exit 3 ;; esac\n"
             "echo '0, NVIDIA A10, 49, 87, 20000, 22731, 0x0000000000000004, 1710, [N/A]'\n"
             "echo '1, NVIDIA A10, 50, [N/A], 21000, 22731, 0x0000000000000000, 1695, 151.20'\n");
  ::chmod((folder / "tools" / "nvidia-smi").c_str(), 0755);
  const NodeLog node = sample(folder, (folder / "tools").string());
  EXPECT_EQ(node.gpu.damaged_lines, 0);
  ASSERT_EQ(node.devices.size(), 3U) << "two GPUs and the CPUs";
  const DeviceLog &first = node.devices[0], &second = node.devices[1];
  EXPECT_EQ(first.name, "NVIDIA A10");
  EXPECT_EQ(first.last.temperature, 49.0F);
  EXPECT_EQ(first.last.utilisation, 87.0F);
  EXPECT_EQ(first.last.memory_used, Bytes{20000} * 1024 * 1024);
  EXPECT_EQ(first.memory_total, Bytes{22731} * 1024 * 1024);
  EXPECT_EQ(first.last.throttle, 4U);
  EXPECT_EQ(first.last.clock, 1710.0F);
  EXPECT_FALSE(first.last.power);
  EXPECT_FALSE(second.last.utilisation);
  EXPECT_EQ(second.last.power, 151.2F);
  EXPECT_EQ(second.index, 1);
}

}  // namespace
}  // namespace nadi::inline jobs
