#include "nadi/sim/layer_times.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline predict {
namespace {

std::filesystem::path layer_file(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

constexpr const char* kColumns = "file,n_entries,unit,all_values\n";

TEST(LayerTimes, ReadsFasopsTable) {
  const LayerTimes times = LayerTimes::read(layer_file(
      "layers.csv",
      std::string(kColumns) + "my_gpt2_A10_2.npy,4,\"s fwd, per sample\",0.001 0.002 0.003 0.004\n"));
  ASSERT_EQ(times.entries().size(), 1u);
  const LayerTimes::Entry& entry = times.entries()[0];
  EXPECT_EQ(entry.model, "my_gpt2");
  EXPECT_EQ(entry.device, "A10");
  EXPECT_EQ(entry.tp, 2);
  EXPECT_EQ(entry.embedding(), 0.001);
  EXPECT_EQ(entry.layer(1), 0.003);
  EXPECT_EQ(entry.head(), 0.004);
}

TEST(LayerTimes, ReadsAnArray) {
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  for (const double value : {0.5, 1.5, 2.5})
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  const LayerTimes times = LayerTimes::read(layer_file("gpt2_A10_1.npy", bytes));
  EXPECT_EQ(times.entries()[0].seconds, (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_THROW(LayerTimes::read(layer_file("gpt2_A10_1.npy", bytes.substr(0, bytes.size() - 3))), Error);
  EXPECT_THROW(LayerTimes::read(layer_file("gpt2_A10_1.npy", bytes.substr(0, 20))), Error);
  EXPECT_THROW(LayerTimes::read(layer_file("nonsense.npy", bytes)), Error);
}

TEST(LayerTimes, RefusesWhatIsNoTable) {
  for (const std::string text :
       {"", "a,b\n", "file,all_values\n", "file,all_values\nx,1 2 3\n", "file,all_values\nm_d_1.npy,1 2\n",
        "file,all_values\nm_d_1.npy,1 -2 3\n", "file,all_values\nm_d_1.npy,1 nan 3\n",
        "file,all_values\nm_d_0.npy,1 2 3\n"})
    EXPECT_THROW(LayerTimes::read(layer_file("bad.csv", text)), Error) << text;
  EXPECT_THROW(LayerTimes::read("/no/such/file.csv"), Error);
}

TEST(LayerTimes, FindsRowsByModelDeviceAndDegree) {
  const LayerTimes times = LayerTimes::read(layer_file(
      "find.csv",
      std::string(kColumns) +
          "gpt2XL_A10_1.npy,3,s,1 2 3\ngpt2XL_A100_1.npy,3,s,4 5 6\nother_A100_1.npy,3,s,7 8 9\n"));
  ModelConfig config = *find_built_in_model("gpt2-xl");
  config.layers = 1;
  EXPECT_EQ(times.find(config, "a10", 1).embedding(), 1);
  EXPECT_EQ(times.find(config, "a100-80gb", 1).embedding(), 4);
  EXPECT_THROW(times.find(config, "a10", 2), Error);
  EXPECT_THROW(times.find(config, "h100", 1), Error);
  config.name = "mine";
  EXPECT_EQ(times.find(config, "a10", 1).embedding(), 1);   // the only one with one layer
  EXPECT_THROW(times.find(config, "a100-80gb", 1), Error);  // there are two
  config.layers = 2;
  EXPECT_THROW(times.find(config, "a10", 1), Error);
}

TEST(LayerTimes, AStepTakesThreeTimesItsLayersForwards) {
  ModelConfig config = *find_built_in_model("gpt2");
  config.layers = 2;
  config.positions = 64;
  const LayerTimes times = LayerTimes::read(
      layer_file("step.csv", std::string(kColumns) + "gpt2_A10_1.npy,4,s,0.001 0.02 0.03 0.005\n"));
  const StepRequest request{.batch_size = 4, .seq_length = 64, .dtype = DType::kF16};
  Plan plan;
  plan.micro_batches = 2;
  const StagePrograms programs(config, request, plan);
  SimulationOptions options;
  options.retime = times.retime(config, request, plan);
  const SimulationResult result = simulate_step(programs, cluster_of(*find_device("a10")), options);
  const RankBreakdown& breakdown = result.classes[0].breakdown;
  const auto seconds = [&](Phase phase) {
    return to_seconds(breakdown.compute[static_cast<std::size_t>(phase)]);
  };
  EXPECT_NEAR(seconds(Phase::kForward), 4 * 0.056, 1e-5);
  EXPECT_NEAR(seconds(Phase::kBackward), 8 * 0.056, 1e-5);
}

// 8 nodes of 4 A10, layers 0-11-8-8-8-8-5-0, 16 micro-batches of one sequence: what FASOP's layer times say
// of the pipeline, by pencil, is 1.40 s.
TEST(LayerTimes, FasopsPipelineTakesWhatItsLayersSay) {
  const std::filesystem::path file = "../shared/data/fasop/known_cost_all.csv";
  std::filesystem::path found;
  for (std::filesystem::path up = std::filesystem::current_path(); found.empty(); up = up.parent_path()) {
    if (std::filesystem::exists(up / file)) found = up / file;
    if (up == up.parent_path()) break;
  }
  if (found.empty()) GTEST_SKIP() << "no " << file;
  const ModelConfig config = *find_built_in_model("gpt2-xl");
  const StepRequest request{
      .batch_size = 16, .seq_length = 1024, .dtype = DType::kF16, .fused_attention = false};
  Plan plan;
  plan.dp = 4;
  plan.pp = 8;
  plan.partition = {0, 11, 8, 8, 8, 8, 5, 0};
  plan.micro_batches = 16;
  const StagePrograms programs(config, request, plan);
  SimulationOptions options;
  options.retime = LayerTimes::read(found).retime(config, request, plan);
  options.overlap.reduce_after_backward = true;
  // Without communication, so that the pipeline is alone.
  Cluster cluster = find_cluster("a10-8x4").value();
  const auto make_fast = [](Fabric& fabric) {
    fabric.bandwidth = ByteRate{1e18};
    fabric.latency = {};
  };
  for (NodeSpec& node : cluster.kinds) make_fast(node.inside);
  for (ClusterLevel& level : cluster.levels) make_fast(level.fabric);
  const SimulationResult result = simulate_step(programs, cluster, options);
  const RankBreakdown& slowest = result.class_of(Rank{4}).breakdown;
  EXPECT_NEAR(to_seconds(slowest.compute[0] + slowest.compute[2]), 16 * 3 * 11 * 0.00234223, 0.001);
  // The first stage has the last backward pass.
  const SimulatedClass& first = result.class_of(Rank{0});
  const double pipeline =
      to_seconds(first.end - first.breakdown.compute[static_cast<std::size_t>(Phase::kOptimizer)]);
  EXPECT_NEAR(pipeline, 1.40, 0.03 * 1.40);
}

}  // namespace
}  // namespace nadi::inline predict
