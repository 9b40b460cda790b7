// How fast numbers are made: the cost of initialising a model and of dropout.

#include <benchmark/benchmark.h>

#include <vector>

#include "nadi/base/random.h"

namespace nadi {
namespace {

constexpr RandomKey kKey{.seed = 1, .step = 0, .site = site_of("benchmark")};
constexpr std::size_t kCount = 1 << 16;

void fill_normal_bench(benchmark::State& state) {
  std::vector<float> out(kCount);
  for ([[maybe_unused]] const auto _ : state) {
    fill_normal(kKey, 0, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCount));
}
BENCHMARK(fill_normal_bench);

}  // namespace
}  // namespace nadi
