#include "other_steps.h"

#include <cstdio>
#include <filesystem>
#include <string>

#include "gpu_models.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/layer_times.h"
#include "nadi/sim/simulation.h"

namespace nadi {
namespace {

struct MeasuredStep {
  const char* model;
  std::int64_t batch, tokens;
  double milliseconds;
  bool fitted;
};
constexpr MeasuredStep kSteps[] = {
    {"gpt2", 4, 1024, 8.46, true},
    {"gpt2", 32, 1024, 55.5, false},
    {"bert-base-uncased", 4, 384, 4.155, true},
    {"bert-base-uncased", 32, 512, 26.1, false},
    {"gpt2-xl", 8, 1024, 163.2, true},
    {"llama-1b", 4, 4096, 247.1, false},
    {"llama-8b-4l", 2, 4096, 126.9, true},
};

// Until the last backward pass of the first stage has ended, on a network that takes no time.
double pipeline_alone(const StagePrograms& programs, Cluster cluster, const SimulationOptions& options) {
  const auto make_fast = [](Fabric& fabric) {
    fabric.bandwidth = ByteRate{1e18};
    fabric.latency = {};
  };
  for (NodeSpec& node : cluster.kinds) make_fast(node.inside);
  for (ClusterLevel& level : cluster.levels) make_fast(level.fabric);
  const SimulationResult result = simulate_step(programs, cluster, options);
  const SimulatedClass& first = result.class_of(Rank{0});
  return to_seconds(first.end - first.breakdown.compute[static_cast<std::size_t>(Phase::kOptimizer)]);
}

}  // namespace

void print_h200_steps() {
  const Cluster cluster = cluster_of(*find_device("h200"));
  for (const MeasuredStep& step : kSteps) {
    ModelConfig config = gpu_bench_model(step.model).value();
    config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
    StepRequest request{.batch_size = step.batch, .seq_length = step.tokens, .dtype = DType::kBF16};
    request.optimizer.max_grad_norm = 0;
    const StagePrograms programs(config, request, {});
    const double predicted = to_seconds(simulate_step(programs, cluster).iteration_time) * 1e3;
    std::printf("H200, %s %ld x %ld, %s: predicted %.2f ms, measured %.2f ms, %+.1f%%\n", step.model,
                static_cast<long>(step.batch), static_cast<long>(step.tokens),
                step.fitted ? "fitted to" : "left out of the fit", predicted, step.milliseconds,
                100 * (predicted / step.milliseconds - 1));
  }
}

void print_a10_step(const std::string& layer_times) {
  constexpr double kMeasured = 1.40;
  Plan plan;
  plan.dp = 4;
  plan.pp = 8;
  plan.partition = {0, 11, 8, 8, 8, 8, 5, 0};
  plan.micro_batches = 16;
  const ModelConfig config = *find_built_in_model("gpt2-xl");
  const StepRequest request{
      .batch_size = 16, .seq_length = 1024, .dtype = DType::kF16, .fused_attention = false};
  const StagePrograms programs(config, request, plan);
  const Cluster cluster = find_cluster("a10-8x4").value();
  SimulationOptions options;
  options.overlap.gradient_dtype = DType::kF16;
  const double predicted = to_seconds(simulate_step(programs, cluster, options).iteration_time);
  std::printf(
      "A10, GPT-2 XL on 8 nodes of 4, nothing of this device fitted to: predicted %.3f s, measured "
      "%.2f s, %+.1f%%\n",
      predicted, kMeasured, 100 * (predicted / kMeasured - 1));
  if (!std::filesystem::exists(layer_times)) {
    std::printf("skipped: no layer times in %s\n", layer_times.c_str());
    return;
  }
  options.retime = LayerTimes::read(layer_times).retime(config, request, plan);
  options.overlap.reduce_after_backward = true;
  const SimulationResult result = simulate_step(programs, cluster, options);
  const auto print = [](const char* what, double seconds, double pencil) {
    std::printf("A10, with FASOP's layer times: %s %.4f s, by pencil %.3f s, %+.1f%%\n", what, seconds,
                pencil, 100 * (seconds / pencil - 1));
  };
  print("pipeline alone", pipeline_alone(programs, cluster, options), 1.40);
  for (const CommunicationShare& share : result.class_of(Rank{0}).breakdown.communication) {
    if (share.group == "embedding") print("all-reduce of the embeddings", to_seconds(share.busy), 0.129);
    if (share.group == "dp" && share.op == "all_reduce")
      print("data-parallel reduction", to_seconds(share.busy), 0.015);
  }
  const double together = to_seconds(result.iteration_time);
  std::printf(
      "A10, with FASOP's layer times: step %.3f s, measured %.2f s, %+.1f%%: these layer times are too "
      "long\n",
      together, kMeasured, 100 * (together / kMeasured - 1));
}

}  // namespace nadi
