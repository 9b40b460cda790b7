// Costs of 30,000 different plans of llama3.1-70b on 512 ranks, as a planner asks for them: tensor, context,
// data and pipeline parallelism, virtual stages, uneven partitions, micro-batches, recomputation, ZeRO-1 and
// sequence parallelism. Prints how long it took and how much memory the process used at most.
//
//   plan_cost_bench [plans]
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/plan_cost.h"
#include "nadi/parallel/step_check.h"

namespace {

using namespace nadi;

constexpr std::int64_t kRanks = 512;
constexpr std::int64_t kGlobalBatch = 1024;

struct Candidate {
  StepRequest request;
  Plan plan;
};

class Candidates {
 public:
  explicit Candidates(const ModelConfig& config) : config_(config) {}

  // A plan that was not given before and that fits.
  Candidate next() {
    for (;;) {
      Candidate made = any();
      if (made.plan.dp < 1 || why_infeasible(config_, made.request, made.plan)) continue;
      if (seen_.insert(name_of(made)).second) return made;
    }
  }

 private:
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[random_() % list.size()];
  }

  Candidate any() {
    Candidate made;
    Plan& plan = made.plan;
    plan.tp = one_of({1, 2, 4, 8});
    plan.cp = one_of({1, 2, 4});
    plan.pp = one_of({1, 2, 4, 5, 8, 10, 16});
    plan.dp = kRanks / (plan.tp * plan.cp * plan.pp);
    plan.sequence_parallel = plan.tp > 1 && one_of({0, 1}) == 1;
    plan.zero_stage = one_of({0, 1});
    plan.virtual_stages = plan.pp > 1 ? one_of({1, 1, 2, 4, 5}) : 1;
    plan.schedule = plan.virtual_stages > 1 ? ScheduleKind::kInterleaved : ScheduleKind::k1F1B;
    StepRequest& request = made.request;
    request.seq_length = 8192;
    request.dtype = DType::kBF16;
    if (plan.dp > 0) {
      request.batch_size = kGlobalBatch / plan.dp;
      plan.micro_batches = std::max<std::int64_t>(1, request.batch_size / one_of({1, 2, 4}));
    }
    request.recompute.granularity = one_of(
        {Recompute::Granularity::kNone, Recompute::Granularity::kSelective, Recompute::Granularity::kFull});
    if (one_of({0, 1}) == 1) uneven(plan);
    return made;
  }

  // Layers move from some stages to others.
  void uneven(Plan& plan) {
    plan.partition = resolved_partition(config_, plan);
    for (int i = 0; i < 3; ++i) {
      std::int64_t& from = plan.partition[random_() % plan.partition.size()];
      std::int64_t& to = plan.partition[random_() % plan.partition.size()];
      const std::int64_t moved = std::min<std::int64_t>(from, one_of({1, 2, 3}));
      from -= moved;
      to += moved;
    }
  }

  static std::string name_of(const Candidate& made) {
    const Plan& p = made.plan;
    std::string name = format("{} {} {} {} {} {} {} {} {} {}", p.tp, p.cp, p.dp, p.pp, p.sequence_parallel,
                              p.zero_stage, p.virtual_stages, p.micro_batches, made.request.batch_size,
                              static_cast<int>(made.request.recompute.granularity));
    for (const std::int64_t layers : p.partition) name += format(" {}", layers);
    return name;
  }

  const ModelConfig& config_;
  std::mt19937 random_{1};
  std::set<std::string> seen_;
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 30'000;
  const ModelConfig& config = *find_built_in_model("llama3.1-70b");
  std::vector<Candidate> candidates;
  {
    Candidates source(config);
    for (int i = 0; i < count; ++i) candidates.push_back(source.next());
  }
  const double before = peak_megabytes();
  const double processor_before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  PlanCosts costs(config);
  Bytes least{std::int64_t{1} << 60};
  Flops most;
  std::int64_t products = 0, messages = 0, stages = 0;
  for (const Candidate& candidate : candidates) {
    Bytes largest;
    for (const StageCost& stage : costs.of(candidate.request, candidate.plan).stages) {
      largest = std::max(largest, stage.memory.total());
      Flops work;
      for (const WorkEntry& entry : stage.work.work) work += entry.matrix;
      most = std::max(most, work);
      for (const Product& product : stage.work.products) products += product.count;
      for (const StepMessage& message : stage.work.messages) messages += message.count;
      ++stages;
    }
    least = std::min(least, largest);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double processor = processor_seconds() - processor_before;
  std::cout
      << format("{} plans of {} with {} stages in {:.3f} s, {:.3f} s of processor time: {:.1f} us per plan\n",
                count, config.name, stages, took.count(), processor, processor * 1e6 / count)
      << format("memory at most {:.0f} MB, {:.0f} MB before the first plan\n", peak_megabytes(), before)
      << format("least memory of a plan {}, most work of a stage {}, {} products, {} messages\n",
                to_string(least), to_string(most), products, messages);
}
