// How long it takes to build a step's program, to sum it up, and to unroll it into trace nodes.

#include <benchmark/benchmark.h>

#include "nadi/model/catalogue.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/unroll/step_trace.h"

namespace nadi {
namespace {

const StepRequest kTraining{.batch_size = 1, .seq_length = 1024};
constexpr const char* kModels[]{"gpt2", "gpt3-175b", "llama3.1-70b", "llama3.1-405b"};

void build(benchmark::State& state) {
  const ModelConfig& config = *find_built_in_model(kModels[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(build_step(config, kTraining));
  state.SetLabel(config.name);
}
BENCHMARK(build)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void summarize_program(benchmark::State& state) {
  const ModelConfig& config = *find_built_in_model(kModels[state.range(0)]);
  const Program program = build_step(config, kTraining);
  for (auto _ : state) benchmark::DoNotOptimize(summarize(program));
  state.SetLabel(config.name);
}
BENCHMARK(summarize_program)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void unroll(benchmark::State& state) {
  const ModelConfig& config = *find_built_in_model(kModels[state.range(0)]);
  const Program program = build_step(config, kTraining);
  std::int64_t nodes = 0;
  for (auto _ : state) {
    StepTracer tracer(program);
    TraceNode node;
    while (tracer.next(node)) ++nodes;
  }
  state.SetLabel(config.name);
  state.counters["nodes"] = benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsRate);
}
BENCHMARK(unroll)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

// A rank of the largest plan that is asked for: 16,384 ranks.
void build_rank(benchmark::State& state) {
  const ModelConfig& config = *find_built_in_model("llama3.1-405b");
  const Plan plan{
      .tp = 8, .dp = 128, .pp = 16, .sequence_parallel = true, .zero_stage = 1, .micro_batches = 16};
  const StepRequest request{.batch_size = 16, .seq_length = 8192, .dtype = DType::kBF16};
  for (auto _ : state) benchmark::DoNotOptimize(build_step(config, request, plan, state.range(0)));
}
BENCHMARK(build_rank)->Arg(0)->Arg(7)->Arg(15)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nadi
