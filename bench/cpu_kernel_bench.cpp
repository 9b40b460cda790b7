// How close the CPU engine's kernels come to the speed of memory: bytes that an op must read and write at
// least, per second. Shapes are those of GPT-2 small with 1024 tokens.
//
//   cpu_kernel_bench [--benchmark_filter=...]      the argument of each line is the number of threads

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "nadi/cpu/prepared_graph.h"
#include "nadi/graph/ops.h"

namespace nadi::cpu {
namespace {

constexpr std::int64_t kTokens = 1024, kWidth = 768, kInner = 3072, kVocabulary = 50257;

// A graph of one op, run again and again. Floating-point tensors start as 0.5, integers as 1.
class OpBench {
 public:
  GraphBuilder builder;

  TensorId input(const char* name, const Shape& shape, DType dtype = DType::kF32) {
    return builder.input(name, shape, dtype);
  }
  TensorId variable(const char* name, const Shape& shape) {
    return builder.variable({.name = name, .shape = shape});
  }

  void run(benchmark::State& state) {
    const int threads = static_cast<int>(state.range(0));
    const Graph& graph = builder.graph();
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::byte*> addresses;
    for (const Tensor& tensor : graph.tensors()) addresses.push_back(fill(tensor, memory).data());
    const PreparedGraph prepared(graph, {.threads = threads});
    std::vector<std::byte> workspace(static_cast<std::size_t>(prepared.workspace()));
    KernelRunner runner(prepared, threads, workspace);
    for ([[maybe_unused]] const auto _ : state) runner.run(0, addresses);
    const OpCost cost = cost_of(graph, graph.ops()[0]);
    state.SetBytesProcessed(state.iterations() * cost.moved().count());
  }

 private:
  static std::vector<std::byte>& fill(const Tensor& tensor, std::vector<std::vector<std::byte>>& memory) {
    std::vector<std::byte>& bytes = memory.emplace_back(static_cast<std::size_t>(tensor.size().count()));
    const auto elements = static_cast<std::size_t>(tensor.shape.elements());
    if (tensor.dtype == DType::kF32)
      std::fill_n(reinterpret_cast<float*>(bytes.data()), elements, 0.5F);
    else if (tensor.dtype == DType::kBF16)
      std::fill_n(reinterpret_cast<std::uint16_t*>(bytes.data()), elements, std::uint16_t{0x3f00});
    else if (tensor.dtype == DType::kI32)
      std::fill_n(reinterpret_cast<std::int32_t*>(bytes.data()), elements, 1);
    else
      std::fill_n(reinterpret_cast<std::int64_t*>(bytes.data()), elements, 1);
    return bytes;
  }
};

void layer_norm_bench(benchmark::State& state, DType dtype) {
  OpBench bench;
  layer_norm(bench.builder, {.x = bench.input("x", Shape{8 * kTokens, kWidth}, dtype),
                             .weight = bench.input("weight", Shape{kWidth}),
                             .bias = bench.input("bias", Shape{kWidth})});
  bench.run(state);
}

void layer_norm_grad_bench(benchmark::State& state, DType dtype) {
  OpBench bench;
  const Shape rows{8 * kTokens}, all{8 * kTokens, kWidth};
  bench.builder.add(
      {.kind = OpKind::kLayerNormGrad,
       .inputs = {bench.input("x", all, dtype), bench.input("weight", Shape{kWidth}),
                  bench.input("mean", rows), bench.input("scale", rows), bench.input("dy", all, dtype)}});
  bench.run(state);
}

void gelu_bench(benchmark::State& state, Activation form, DType dtype) {
  OpBench bench;
  gelu(bench.builder, bench.input("x", Shape{4 * kTokens, kInner}, dtype), form);
  bench.run(state);
}

void gelu_grad_bench(benchmark::State& state, Activation form, DType dtype) {
  OpBench bench;
  const Shape all{4 * kTokens, kInner};
  bench.builder.add({.kind = OpKind::kGeluGrad,
                     .inputs = {bench.input("x", all, dtype), bench.input("dy", all, dtype)},
                     .attributes = {{"form", std::string(to_string(form))}}});
  bench.run(state);
}

void dropout_bench(benchmark::State& state) {
  OpBench bench;
  dropout(
      bench.builder,
      {.x = bench.input("x", Shape{8, kTokens, kWidth}), .random = random_input(bench.builder), .rate = 0.1});
  bench.run(state);
}

void sum_rows_bench(benchmark::State& state) {
  OpBench bench;
  bench.builder.add({.kind = OpKind::kSumRows, .inputs = {bench.input("x", Shape{8 * kTokens, kWidth})}});
  bench.run(state);
}

void cross_entropy_bench(benchmark::State& state, DType dtype) {
  OpBench bench;
  cross_entropy(bench.builder, {.logits = bench.input("logits", Shape{kTokens, kVocabulary}, dtype),
                                .targets = bench.input("targets", Shape{kTokens}, DType::kI32),
                                .count = bench.input("count", Shape{})});
  bench.run(state);
}

// Over the logits, as a step does it.
void cross_entropy_grad_bench(benchmark::State& state, DType dtype) {
  OpBench bench;
  const TensorId logits =
      bench.builder.variable({.name = "logits", .shape = Shape{kTokens, kVocabulary}, .dtype = dtype});
  bench.builder.add(
      {.kind = OpKind::kCrossEntropyGrad,
       .inputs = {logits, bench.input("targets", Shape{kTokens}, DType::kI32), bench.input("count", Shape{}),
                  bench.input("statistics", Shape{kTokens}), bench.input("dloss", Shape{})},
       .attributes = {{"vocabulary", kVocabulary}},
       .into = {{logits}}});
  bench.run(state);
}

void adamw_bench(benchmark::State& state) {
  OpBench bench;
  const Shape shape{40'000'000};
  adamw(bench.builder, {.update = {.parameter = bench.variable("p", shape),
                                   .gradient = bench.variable("g", shape),
                                   .learning_rate = bench.input("learning_rate", Shape{})},
                        .m = bench.variable("m", shape),
                        .v = bench.variable("v", shape),
                        .update_number = bench.input("update_number", Shape{}, DType::kI64),
                        .weight_decay = 0.1});
  bench.run(state);
}

void squared_norm_bench(benchmark::State& state) {
  OpBench bench;
  const TensorId gradients[]{bench.input("a", Shape{40'000'000}), bench.input("b", Shape{kWidth})};
  squared_norm(bench.builder, gradients);
  bench.run(state);
}

void embedding_grad_bench(benchmark::State& state) {
  OpBench bench;
  const TensorId table = bench.variable("table", Shape{kVocabulary, kWidth});
  bench.builder.add({.kind = OpKind::kEmbeddingGrad,
                     .inputs = {bench.input("ids", Shape{8 * kTokens}, DType::kI32),
                                bench.input("dy", Shape{8 * kTokens, kWidth})},
                     .attributes = {{"rows", kVocabulary}},
                     .into = {{table, true}}});
  bench.run(state);
}

void two_threads(benchmark::internal::Benchmark* bench) {
  bench->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(layer_norm_bench, f32, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(layer_norm_bench, bf16, DType::kBF16)->Apply(two_threads);
BENCHMARK_CAPTURE(layer_norm_grad_bench, f32, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(layer_norm_grad_bench, bf16, DType::kBF16)->Apply(two_threads);
BENCHMARK_CAPTURE(gelu_bench, tanh_f32, Activation::kGeluTanh, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(gelu_bench, tanh_bf16, Activation::kGeluTanh, DType::kBF16)->Apply(two_threads);
BENCHMARK_CAPTURE(gelu_bench, erf_f32, Activation::kGeluErf, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(gelu_grad_bench, tanh_f32, Activation::kGeluTanh, DType::kF32)->Apply(two_threads);
BENCHMARK(dropout_bench)->Apply(two_threads);
BENCHMARK(sum_rows_bench)->Apply(two_threads);
BENCHMARK_CAPTURE(cross_entropy_bench, f32, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(cross_entropy_bench, bf16, DType::kBF16)->Apply(two_threads);
BENCHMARK_CAPTURE(cross_entropy_grad_bench, f32, DType::kF32)->Apply(two_threads);
BENCHMARK_CAPTURE(cross_entropy_grad_bench, bf16, DType::kBF16)->Apply(two_threads);
BENCHMARK(adamw_bench)->Apply(two_threads);
BENCHMARK(squared_norm_bench)->Apply(two_threads);
BENCHMARK(embedding_grad_bench)->Apply(two_threads);

}  // namespace
}  // namespace nadi::cpu
