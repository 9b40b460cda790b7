#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/cluster/cluster_file.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

const std::string kQuick = "calibrate --quick --patience 0 --model gpt2-tiny --threads 1 ";

TEST(Calibrate, WritesAClusterFileWithMeasuredOps) {
  const WorkingFolder folder;
  const CliRun done = run(kQuick + "--ranks 1 -o me.json");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("wrote me.json"));
  const Cluster machine = load_cluster("me.json");
  EXPECT_EQ(machine.device_count(), 1);
  EXPECT_GT(machine.device(DeviceId{0}).measured.ops.size(), 20U);
  EXPECT_EQ(run(kQuick + "--ranks 1 -o me.json").code, 2) << "not without --force";
  EXPECT_EQ(run(kQuick + "--ranks 1 -o me.json --force").code, 0);
}

TEST(Calibrate, MeasuresTheTypesThatWereAskedFor) {
  const WorkingFolder folder;
  const CliRun done = run(kQuick + "--ranks 1 --dtype fp32 --dtype bf16 -o me.json");
  ASSERT_EQ(done.code, 0) << done.err;
  const DeviceSpec device = load_cluster("me.json").device(DeviceId{0});
  EXPECT_GT(device.peak(DType::kF32), FlopRate{});
  EXPECT_GT(device.peak(DType::kBF16), FlopRate{});
  EXPECT_EQ(run(kQuick + "--ranks 1 --dtype fp8 -o other.json").code, 2);
}

TEST(Calibrate, StartsRanksAndMeasuresTheirMessages) {
  const WorkingFolder folder;
  const CliRun done = run(kQuick + "--ranks 1,2 -o me.json");
  if (done.code == 4) GTEST_SKIP() << done.err;
  ASSERT_EQ(done.code, 0) << done.err;
  const Cluster two = load_cluster("me.json").for_ranks(2);
  EXPECT_EQ(two.device_count(), 2);
  const MeasuredCollectives& measured = two.node(0).inside.measured;
  EXPECT_GT(measured.collective(CollectiveType::kAllReduce, 2, Bytes{1 << 20}).value(), Nanoseconds{});
  EXPECT_GT(measured.message(Bytes{1 << 20}).value(), Nanoseconds{});
}

TEST(Calibrate, RefusesWhatItCannotMeasure) {
  const WorkingFolder folder;
  EXPECT_THAT(run("calibrate").err, HasSubstr("-o, --output is missing"));
  for (const char* list : {"0", "x", "1,,2", "1,65", "-1"}) {
    const CliRun done = run(kQuick + "-o me.json --ranks=" + list);
    EXPECT_EQ(done.code, 2) << list;
    EXPECT_THAT(done.err, HasSubstr("--ranks does not take '" + std::string(list) + "'"));
  }
  EXPECT_EQ(run("calibrate -o me.json --device reference").code, 2);
  for (const char* sizes : {"4", "4x", "x256", "0x256", "4x256,", "4x-1", "4x256x2", "99999999x1"})
    EXPECT_THAT(run(std::string("calibrate -o me.json --sizes ") + sizes).err,
                HasSubstr("--sizes does not take '"))
        << sizes;
  EXPECT_THAT(run("calibrate -o me.json --sizes 4x256 --quick").err, HasSubstr("give one of them"));
  EXPECT_EQ(run("calibrate -o me.json --repeat 0").code, 2);
  EXPECT_EQ(run("calibrate -o me.json --patience -1").code, 2);
  EXPECT_EQ(run("calibrate -o me.json --model gpt2-tinny").code, 2);
}

}  // namespace
}  // namespace nadi::inline show
