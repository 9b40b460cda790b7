#include "other_steps.h"

#include <cstdio>
#include <filesystem>
#include <string>

#include "gpu_models.h"
#include "nadi/base/format.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/layer_times.h"
#include "nadi/sim/simulation.h"

namespace nadi {
namespace {

struct MeasuredStep {
  const char* model;
  std::int64_t batch, tokens;
  double milliseconds;
  bool fitted;
  double gigabytes;  // of memory, as the engine took it
};
constexpr MeasuredStep kSteps[] = {
    {"gpt2", 4, 1024, 8.46, true, 3.92},         {"gpt2", 32, 1024, 55.5, false, 15.5},
    {"bert-base", 4, 384, 4.155, true, 2.57},    {"bert-base", 32, 512, 26.1, false, 8.02},
    {"gpt2-xl", 8, 1024, 163.2, true, 49.2},     {"llama-1b", 4, 4096, 247.1, false, 46.8},
    {"llama-8b-4l", 2, 4096, 126.9, true, 41.8},
};

// On two threads of a CPU, in fp32: the whole process, with libraries and the workspace of kernels.
struct MeasuredProcess {
  const char* model;
  std::int64_t batch, tokens;
  double gibibytes;
};
constexpr MeasuredProcess kProcesses[] = {{"gpt2", 4, 256, 2.69}, {"bert-base", 4, 128, 2.01}};

constexpr double kGiB = 1024.0 * 1024 * 1024;

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

std::vector<PublishedRow> h200_steps() {
  std::vector<PublishedRow> rows;
  for (const MeasuredStep& step : kSteps) {
    PublishedRow row;
    row.source = kH200Steps;
    row.line = static_cast<int>(rows.size()) + 1;
    row.config = gpu_bench_model(step.model).value();
    row.config.embedding_dropout = row.config.attention_dropout = row.config.residual_dropout = 0;
    row.request = {.batch_size = step.batch, .seq_length = step.tokens, .dtype = DType::kBF16};
    row.request.optimizer.max_grad_norm = 0;
    row.cluster = cluster_of(*find_device("h200"));
    row.measured_s = step.milliseconds * 1e-3;
    row.measured_memory = Bytes{static_cast<std::int64_t>(step.gigabytes * 1e9)};
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_h200_step_fitted_to(const PublishedRow& row) {
  return kSteps[row.line - 1].fitted;
}

void print_memory(const std::vector<PublishedRow>& published) {
  const auto print = [](const std::string& what, double predicted, double measured) {
    std::printf("memory, %s: predicted %.2f GiB, stated %.2f GiB, %+.1f%%\n", what.c_str(), predicted / kGiB,
                measured / kGiB, 100 * (predicted / measured - 1));
  };
  const auto memory_of = [](const PublishedRow& row) {
    const StagePrograms programs(row.config, row.request, row.plan);
    return simulate_step(programs, row.cluster, {.overlap = row.overlap, .keep_times = false})
        .class_of(Rank{0})
        .memory;
  };
  // Published is what a stage of blocks takes: without the embeddings, which the first and the last hold
  // besides.
  for (PublishedRow row : published) {
    if (row.measured_memory == Bytes{}) continue;
    const std::string name = format("{}, line {}", row.source, row.line);
    const double measured = static_cast<double>(row.measured_memory.count());
    print(name + ", published, predicted with embeddings", static_cast<double>(memory_of(row).peak.count()),
          measured);
    row.config.vocabulary = 128 * row.plan.tp;
    print(name + ", published, as there without embeddings", static_cast<double>(memory_of(row).peak.count()),
          measured);
  }
  for (const PublishedRow& row : h200_steps())
    print(format("{}, line {}, as the engine took it", row.source, row.line),
          static_cast<double>(memory_of(row).reserved.count()),
          static_cast<double>(row.measured_memory.count()));
  for (const MeasuredProcess& process : kProcesses) {
    PublishedRow row;
    row.config = gpu_bench_model(process.model).value();
    row.request = {.batch_size = process.batch, .seq_length = process.tokens};
    row.cluster = cluster_of(*find_device("epyc-7763"));
    print(format("{} {} x {} on a CPU, the whole process", process.model, process.batch, process.tokens),
          static_cast<double>(memory_of(row).reserved.count()), process.gibibytes * kGiB);
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
  const Cluster cluster = find_cluster("a10-8x4").value();
  const StepRequest request{.batch_size = 16,
                            .seq_length = 1024,
                            .dtype = DType::kF16,
                            .fused_attention = cluster.attention != "unfused"};
  const StagePrograms programs(config, request, plan);
  const Framework& megatron = *find_framework("megatron-2022");
  StepRequest by_megatron = request;
  by_megatron.layout = megatron.layout;
  SimulationOptions options;
  options.overlap.gradient_dtype = DType::kF16;
  const auto print_step = [&](const char* what, const StagePrograms& of) {
    const double predicted = to_seconds(simulate_step(of, cluster, options).iteration_time);
    std::printf(
        "A10, %s on 8 nodes of 4, nothing of this device fitted to: predicted %.3f s, measured %.2f s, "
        "%+.1f%%\n",
        what, predicted, kMeasured, 100 * (predicted / kMeasured - 1));
  };
  print_step("GPT-2 XL", programs);
  // What ran: Megatron-LM, whose exchanges stop host and device, and a model with fewer heads, whose scores
  // are fewer.
  options.overlap = megatron.overlap;
  options.overlap.gradient_dtype = DType::kF16;
  print_step("GPT-2 XL by Megatron-LM", StagePrograms(config, by_megatron, plan));
  ModelConfig as_measured = config;
  as_measured.heads = as_measured.kv_heads = 16;
  as_measured.head_width = config.width / as_measured.heads;
  print_step("GPT-2 XL by Megatron-LM with 16 heads in place of 25, as FASOP ran it,",
             StagePrograms(as_measured, by_megatron, plan));
  if (!std::filesystem::exists(layer_times)) {
    std::printf("skipped: no layer times in %s\n", layer_times.c_str());
    return;
  }
  options.retime = LayerTimes::read(layer_times).retime(config, request, plan);
  // By pencil, messages hide behind computation.
  options.overlap = {.reduce_after_backward = true, .gradient_dtype = DType::kF16};
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

// tp 4, micro-batches of 4, 16 sequences for each data-parallel rank, 4,096 tokens, distributed optimizer. Its
// squared ReLU of 24,576 is a SwiGLU of 16,384 here, which has as many parameters and products.
void print_nemotron_steps() {
  struct Measured {
    int nodes;
    double seconds;
  };
  ModelConfig config = gpu_bench_model("llama-8b-4l").value();
  config.name = "nemotron4-15b";
  config.vocabulary = 256'000;
  config.positions = 4096;
  config.layers = 32;
  config.width = 6144;
  config.heads = 48;
  config.ffn_width = 16'384;
  for (const auto& [nodes, measured] : {Measured{2, 2.812}, Measured{4, 2.824}, Measured{8, 2.845},
                                        Measured{16, 2.859}, Measured{128, 2.895}, Measured{256, 2.887}}) {
    const Plan plan{.tp = 4, .dp = 2 * nodes, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 4};
    for (const char* name : {"megatron", "nadi"}) {
      const Framework& framework = *find_framework(name);
      const StepRequest request{
          .batch_size = 16, .seq_length = 4096, .dtype = DType::kBF16, .layout = framework.layout};
      SimulationOptions options{.overlap = framework.overlap, .keep_times = false};
      options.overlap.gradient_dtype = DType::kBF16;
      const double predicted = to_seconds(simulate_step(StagePrograms(config, request, plan),
                                                        *find_cluster(format("dgx-h100x{}", nodes)), options)
                                              .iteration_time);
      std::printf(
          "H100, Nemotron-4 15B on %d nodes of 8, as %s: predicted %.3f s, measured %.3f s, %+.1f%%\n", nodes,
          name, predicted, measured, 100 * (predicted / measured - 1));
    }
  }
}

}  // namespace nadi
