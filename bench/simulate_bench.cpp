// How fast steps are simulated, on one core with the analytical network:
//   - 1,024 ranks of llama3.1-70b (tp 8, pp 4, dp 32), 8 micro-batches, each rank by itself: nodes per
//   second;
//   - 16,384 ranks of llama3.1-405b (tp 8, pp 16, dp 128), global batch of 2,048, merged: seconds, with the
//     building of all programs.
//
//   simulate_bench [repeats]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"
#include "nadi/sim/simulation.h"

namespace {

using namespace nadi;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Nodes of eight devices with an H100's figures.
Cluster bench_cluster(std::int32_t devices) {
  DeviceSpec device{.name = "h100", .product = "NVIDIA H100 SXM5 80 GB"};
  for (FlopRate& peak : device.matrix_peak) peak = FlopRate{989e12};
  device.vector_peak = FlopRate{67e12};
  device.memory_bandwidth = ByteRate{3.35e12};
  device.memory = Bytes{1} * 80'000'000'000;
  device.launch_overhead = Nanoseconds{2000};
  Cluster cluster;
  cluster.name = "bench";
  cluster.devices.push_back(device);
  NodeSpec node;
  node.name = "dgx";
  node.devices = 8;
  node.inside.kind = "nvswitch";
  node.inside.bandwidth = ByteRate{450e9};
  node.inside.latency = Nanoseconds{3000};
  cluster.kinds.push_back(node);
  cluster.nodes.assign(static_cast<std::size_t>(devices / 8), 0);
  ClusterLevel level;
  level.name = "nodes";
  level.members = devices / 8;
  level.fabric.kind = "infiniband";
  level.fabric.bandwidth = ByteRate{400e9};
  level.fabric.latency = Nanoseconds{5000};
  cluster.levels.push_back(level);
  return cluster;
}

void report(const char* name, const SimulationResult& result, double took, double built) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << format(
      "{}: {} ranks in {} classes, {} nodes, iteration {:.4f} s; {:.3f} s, of which programs "
      "{:.3f} s: {:.2f} million nodes/s; {} MB at most\n",
      name, result.ranks, result.classes.size(), result.nodes, to_seconds(result.iteration_time), took, built,
      static_cast<double>(result.simulated_nodes) / (took - built) / 1e6, usage.ru_maxrss / 1024);
}

void each_rank() {
  const Plan plan{.tp = 8, .dp = 32, .pp = 4, .micro_batches = 8};
  const double start = seconds();
  const StagePrograms programs(*find_built_in_model("llama3.1-70b"),
                               {.batch_size = 8, .seq_length = 4096, .dtype = DType::kBF16}, plan);
  programs.all();
  const double built = seconds() - start;
  const Cluster cluster = bench_cluster(1024);
  const SimulationResult result = simulate_step(programs, cluster, {.symmetry = false, .keep_times = false});
  report("llama3.1-70b, no symmetry", result, seconds() - start, built);
}

void merged() {
  const Plan plan{.tp = 8, .dp = 128, .pp = 16, .micro_batches = 16};
  const Cluster cluster = bench_cluster(16384);
  const double start = seconds();
  const StagePrograms programs(*find_built_in_model("llama3.1-405b"),
                               {.batch_size = 16, .seq_length = 4096, .dtype = DType::kBF16}, plan);
  programs.all();
  const double built = seconds() - start;
  const SimulationResult result = simulate_step(programs, cluster, {});
  report("llama3.1-405b, merged", result, seconds() - start, built);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  for (int i = 0; i < repeats; ++i) {
    merged();
    each_rank();
  }
}
