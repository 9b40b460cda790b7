// How long a search for plans takes, and how near to the best its answer is.
//
//   plan_search_bench gpt2-xl a100x1-a10x7 64 [--fleet FILE] [--space fasop|large] [--seq-length N]
//   [--layer-times FILE] [--threads N] [--top N] [--all evaluate]
//
// Prints time, plans evaluated, gap, and the best plans with estimated and simulated step times.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/model/catalogue.h"
#include "nadi/plan/fleet.h"
#include "nadi/plan/plan_search.h"

namespace {

using namespace nadi;

std::string text_of(const RankedPlan& ranked, const Cluster& cluster) {
  const Plan& plan = ranked.candidate.plan;
  std::string text =
      format("tp {} dp {} pp {} mbs {} m {} {}{} zero {} sp {} {}", plan.tp, plan.dp, plan.pp,
             ranked.candidate.micro_batch_size, plan.micro_batches, to_string(plan.schedule),
             plan.virtual_stages > 1 ? format(" x{}", plan.virtual_stages) : "", plan.zero_stage,
             plan.sequence_parallel, to_string(ranked.candidate.recompute.granularity));
  text += " [";
  for (const std::int64_t layers : plan.partition) text += format("{} ", layers);
  text += "]";
  for (const NodeRun& run : ranked.candidate.nodes)
    text +=
        format(" {}x{}:{}", run.count, cluster.kinds[static_cast<std::size_t>(run.kind)].name, run.devices);
  text += format(" est {:.4f} s", static_cast<double>(ranked.estimate.iteration.count()) * 1e-9);
  if (ranked.simulated)
    text += format(" sim {:.4f} s", static_cast<double>(ranked.simulated->count()) * 1e-9);
  return text;
}

int run(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: plan_search_bench MODEL CLUSTER GLOBAL_BATCH [options]\n");
    return 2;
  }
  PlanQuestion question{.config = *find_built_in_model(argv[1]), .cluster = load_cluster(argv[2])};
  question.global_batch_size = std::atoll(argv[3]);
  question.request.seq_length = 1024;
  question.request.dtype = DType::kF16;
  question.limits.memory_share = 0.95;  // as nadi plan
  SearchOptions options;
  std::string fleet_file;
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--space" && std::string(argv[i + 1]) == "fasop")
      question.space = {.zero_stages = {0},
                        .sequence_parallel = {false},
                        .recompute = {{}},
                        .schedules = {ScheduleKind::k1F1B}};
    else if (flag == "--space" && std::string(argv[i + 1]) == "large")
      question.space = {.tp = {8},
                        .zero_stages = {1},
                        .sequence_parallel = {true},
                        .recompute = {{.granularity = Recompute::Granularity::kFull}},
                        .schedules = {ScheduleKind::k1F1B, ScheduleKind::kGPipe}};
    else if (flag == "--fleet")
      fleet_file = argv[i + 1];
    else if (flag == "--seq-length")
      question.request.seq_length = std::atoll(argv[i + 1]);
    else if (flag == "--threads")
      options.threads = std::atoi(argv[i + 1]);
    else if (flag == "--top")
      options.top = std::atoll(argv[i + 1]);
    else if (flag == "--dtype")
      question.request.dtype = std::string(argv[i + 1]) == "bf16" ? DType::kBF16 : DType::kF16;
    else if (flag == "--layer-times")
      question.layer_times = LayerTimes::read(argv[i + 1]);
    else if (flag == "--all" && std::string(argv[i + 1]) == "evaluate")
      options.every = [](const PlanCandidate&, const PlanEstimate&) {};
    else if (flag == "--objective")
      question.objective = std::string(argv[i + 1]) == "cost" ? PlanObjective::kCost : PlanObjective::kMemory;
    else
      return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  if (!fleet_file.empty()) {
    const Fleet fleet = read_fleet(fleet_file);
    const FleetAnswer answer = search_fleet(question, fleet, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.2f s, %lld sub-clusters, %lld plans evaluated, %zu points, front:\n", seconds,
                static_cast<long long>(answer.subclusters), static_cast<long long>(answer.evaluated),
                answer.points.size());
    for (const std::size_t i : answer.front)
      std::printf("%.5f $ %s\n", *answer.points[i].plan.estimate.dollars_per_step,
                  text_of(answer.points[i].plan, fleet.cluster).c_str());
    return 0;
  }
  if (std::getenv("PROGRESS") != nullptr)
    options.progress = [&](const SearchProgress& progress) {
      std::fprintf(stderr, "%8.2f s: %lld of %lld, %lld evaluated, best %.4f s\n",
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                   static_cast<long long>(progress.done), static_cast<long long>(progress.total),
                   static_cast<long long>(progress.evaluated),
                   progress.best ? static_cast<double>(progress.best->count()) * 1e-9 : 0.0);
    };
  const PlanAnswer answer = search_plans(question, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.2f s, %lld plans evaluated, %lld simulated, lower bound %.4f, gap %.2f%%\n", seconds,
              static_cast<long long>(answer.evaluated), static_cast<long long>(answer.simulated),
              answer.lower_bound, answer.gap * 100);
  for (const RankedPlan& plan : answer.plans) std::printf("%s\n", text_of(plan, question.cluster).c_str());
  if (answer.nearest)
    std::printf("nearest: %s missing %.2f GiB\n", text_of(answer.nearest->plan, question.cluster).c_str(),
                static_cast<double>(answer.nearest->missing_memory.count()) / (1 << 30));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const nadi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
