#include "nadi/calibrate/calibration.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/calibrate/sample_run.h"
#include "nadi/comm/single_process.h"

namespace nadi::inline runs {
namespace {

ModelConfig small_gpt2() {
  return {.name = "small",
          .architecture = architecture_named("gpt2"),
          .vocabulary = 64,
          .positions = 32,
          .layers = 2,
          .width = 16,
          .heads = 4,
          .kv_heads = 4,
          .head_width = 4,
          .ffn_width = 32};
}

class Quiet : public CalibrationListener {
 public:
  void progress(std::int64_t done, std::int64_t total, std::string_view) override {
    EXPECT_LT(done, total);
    ++pieces;
  }
  void note(const std::string& text) override { notes.push_back(text); }
  std::int64_t pieces = 0;
  std::vector<std::string> notes;
};

TEST(Calibration, MeasuresTheOpsOfAModelThroughTheEngine) {
  SingleProcess world;
  Quiet listener;
  const Cluster machine =
      calibrate({.threads = 1, .models = {small_gpt2()}, .quick = true, .patience = {}}, world, listener);
  EXPECT_EQ(listener.pieces, 2);
  EXPECT_TRUE(listener.notes.empty());
  EXPECT_EQ(machine.device_count(), 1);
  const DeviceSpec& device = machine.device(DeviceId{0});
  EXPECT_GT(device.peak(DType::kF32), FlopRate{});
  EXPECT_GT(device.memory_bandwidth, ByteRate{});
  bool product = false;
  for (const MeasuredOp& op : device.measured.ops) {
    // A product of 32 tokens from the residual stream of width 16 to the feed-forward layer of width 32.
    product = product || (op.kind == OpKind::kMatmul && op.m == 32 && op.n == 32 && op.k == 16);
    EXPECT_FALSE(op.kind == OpKind::kAllReduce);
  }
  EXPECT_TRUE(product);
}

TEST(Calibration, SaysWhatDoesNotFitTheMemory) {
  SingleProcess world;
  Quiet listener;
  EXPECT_THROW(
      calibrate(
          {.threads = 1, .models = {small_gpt2()}, .quick = true, .memory_limit = 1_KiB, .patience = {}},
          world, listener),
      Error);
  ASSERT_EQ(listener.notes.size(), 2U);
  EXPECT_NE(listener.notes[0].find("left out: small"), std::string::npos);
}

TEST(Calibration, ARankOfAPlanRunsWithoutItsPartners) {
  for (const Plan& plan : {Plan{.tp = 2}, Plan{.dp = 2}, Plan{.dp = 2, .zero_stage = 1},
                           Plan{.pp = 2, .micro_batches = 2}, Plan{.tp = 2, .sequence_parallel = true}}) {
    SampleRun run(
        {.name = "", .config = small_gpt2(), .request = {.batch_size = 2, .seq_length = 8}, .plan = plan},
        {.threads = 1});
    EXPECT_GT(run.run_once(), Nanoseconds{});
    EXPECT_FALSE(run.record(1).front().kernels.empty());
  }
}

TEST(Calibration, AMachineHasAKindOfNodeForEachNumberOfRanks) {
  const auto part = [](std::int32_t ranks) {
    Cluster cluster;
    cluster.name = "m";
    cluster.devices = {{.name = "of" + std::to_string(ranks), .product = ""}};
    cluster.kinds = {{.name = "n", .device = 0, .devices = ranks, .inside = {}}};
    cluster.nodes = {0};
    return cluster;
  };
  const Cluster machine = machine_of({part(4), part(1), part(2)});
  EXPECT_EQ(machine.device_count(), 1);
  EXPECT_EQ(machine.for_ranks(1).device(DeviceId{0}).name, "of1");
  EXPECT_EQ(machine.for_ranks(2).device(DeviceId{1}).name, "of2");
  EXPECT_EQ(machine.for_ranks(4).device_count(), 4);
}

}  // namespace
}  // namespace nadi::inline runs
