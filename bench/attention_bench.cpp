// Attention on the CPU: the shapes of GPT-2 (causal), BERT and decoding, forward and backward, in
// multiply-adds per second over the pairs that are not masked. `gemm` is the yardstick: matrix products of a
// similar amount of work.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "nadi/cpu/gemm.h"
#include "nadi/cpu/prefaulted_memory.h"
#include "nadi/cpu/prepared_graph.h"
#include "nadi/engine/element.h"
#include "nadi/engine/host_threads.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops/attention.h"
#include "nadi/graph/ops/rotary.h"

namespace nadi::cpu {
namespace {

int threads() {
  return default_threads();
}

// Memory for all tensors of a graph, full of small numbers, and what runs its ops.
class Bench {
 public:
  explicit Bench(Graph graph)
      : graph_(std::move(graph)),
        prepared_(graph_, {.threads = threads()}),
        workspace_(Bytes{prepared_.workspace()}, threads()),
        runner_(prepared_, threads(), workspace_.bytes()) {
    set_threads(threads());
    for (const Tensor& tensor : graph_.tensors()) {
      memory_.emplace_back(tensor.size(), threads());
      addresses_.push_back(memory_.back().data());
      const std::int64_t elements = is_floating(tensor.dtype) ? tensor.shape.elements() : 0;
      for (std::int64_t i = 0; i < elements; ++i) {
        const float value = static_cast<float>(i * 7919 % 1000) * 0.002F - 1;
        convert_from_float(&value, 1, element(addresses_.back(), tensor.dtype, i), tensor.dtype);
      }
    }
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) run(i);
  }
  void set_integers(std::string_view name, std::int32_t value) {
    const TensorId id = *graph_.find_tensor(name);
    std::fill_n(reinterpret_cast<std::int32_t*>(addresses_[index(id)]), graph_.tensor(id).shape.elements(),
                value);
  }
  void run(std::size_t op) { runner_.run(op, addresses_); }

 private:
  Graph graph_;
  PreparedGraph prepared_;
  PrefaultedMemory workspace_;
  std::vector<PrefaultedMemory> memory_;
  std::vector<std::byte*> addresses_;
  KernelRunner runner_;
};

void count_work(benchmark::State& state, std::int64_t multiply_adds) {
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(multiply_adds),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

struct Shapes {
  std::int64_t B, T, H, D;
  bool causal;
  DType dtype = DType::kF32;
  double dropout = 0;
};

// The forward op and, after it, the gradient.
Graph self_attention(const Shapes& s) {
  GraphBuilder b;
  const TensorId qkv = b.parameter("qkv", Shape{s.B, s.T, 3 * s.H * s.D}, s.dtype, Initializer::constant(0));
  const TensorId random = s.dropout > 0 ? b.input("random", Shape{3}, DType::kI64) : kNoTensor;
  const TensorId y = fused_attention(
      b,
      {.q = qkv, .heads = s.H, .kv_heads = s.H, .causal = s.causal, .dropout = s.dropout, .random = random});
  add_backward(b, {.seeds = {{y, b.input("dy", b.shape(y), s.dtype)}}});
  return b.take();
}

void self_attention_bench(benchmark::State& state, const Shapes& s, bool backward) {
  Bench bench(self_attention(s));
  for ([[maybe_unused]] const auto _ : state) bench.run(backward ? 1 : 0);
  const std::int64_t pairs = s.causal ? s.T * (s.T + 1) / 2 : s.T * s.T;
  count_work(state, s.B * s.H * pairs * s.D * (backward ? 5 : 2));
}

constexpr Shapes kGpt2{4, 256, 12, 64, true};
constexpr Shapes kGpt2Long{1, 1024, 12, 64, true};
constexpr Shapes kBert{4, 128, 12, 64, false};
constexpr Shapes kLlama{1, 512, 8, 128, true};
constexpr Shapes kGpt2Bf16{4, 256, 12, 64, true, DType::kBF16};
constexpr Shapes kGpt2Dropout{4, 256, 12, 64, true, DType::kF32, 0.1};
BENCHMARK_CAPTURE(self_attention_bench, gpt2_forward, kGpt2, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_backward, kGpt2, true)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_1024_forward, kGpt2Long, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_1024_backward, kGpt2Long, true)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, bert_forward, kBert, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, bert_backward, kBert, true)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, width_128_forward, kLlama, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, width_128_backward, kLlama, true)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_bf16_forward, kGpt2Bf16, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_bf16_backward, kGpt2Bf16, true)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_dropout_forward, kGpt2Dropout, false)->UseRealTime();
BENCHMARK_CAPTURE(self_attention_bench, gpt2_dropout_backward, kGpt2Dropout, true)->UseRealTime();

// One token per sequence with 1024 in the cache: keys and values are read once.
void decode_bench(benchmark::State& state, std::int64_t heads, std::int64_t kv_heads) {
  constexpr std::int64_t B = 4, S = 1024, D = 64;
  GraphBuilder b;
  fused_attention(b, {.q = b.input("q", Shape{B, 1, heads * D}, DType::kF32),
                      .k = b.input("k", Shape{B, S, kv_heads * D}, DType::kF32),
                      .v = b.input("v", Shape{B, S, kv_heads * D}, DType::kF32),
                      .heads = heads,
                      .kv_heads = kv_heads,
                      .causal = true,
                      .positions = b.input("positions", Shape{B}, DType::kI32),
                      .training = false});
  Bench bench(b.take());
  bench.set_integers("positions", S - 1);
  for ([[maybe_unused]] const auto _ : state) bench.run(0);
  state.SetBytesProcessed(state.iterations() * 2 * B * S * kv_heads * D * 4);
}
BENCHMARK_CAPTURE(decode_bench, heads_12, 12, 12)->UseRealTime();
BENCHMARK_CAPTURE(decode_bench, heads_12_of_3, 12, 3)->UseRealTime();
BENCHMARK_CAPTURE(decode_bench, heads_32_of_4, 32, 4)->UseRealTime();

void rotary_bench(benchmark::State& state) {
  GraphBuilder b;
  rotary(b, {.x = b.input("x", Shape{4, 256, 768}, DType::kF32), .heads = 12});
  Bench bench(b.take());
  for ([[maybe_unused]] const auto _ : state) bench.run(0);
  state.SetBytesProcessed(state.iterations() * 2 * 4 * 256 * 768 * 4);
}
BENCHMARK(rotary_bench)->UseRealTime();

void gemm_bench(benchmark::State& state) {
  set_threads(threads());
  constexpr std::int64_t n = 768;
  std::vector<float> a(n * n, 0.5F), b(n * n, 0.5F), c(n * n);
  for ([[maybe_unused]] const auto _ : state)
    gemm({.m = n, .n = n, .k = n, .a = a.data(), .lda = n, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
  count_work(state, n * n * n);
}
BENCHMARK(gemm_bench)->UseRealTime();

}  // namespace
}  // namespace nadi::cpu
