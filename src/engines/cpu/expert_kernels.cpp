// What experts compute on their rows. Letters: E experts, R rows, K inner extent, N columns, W width.
//
// Rows of one expert may be many and of the next none, so threads do not get experts each: of a product every thread
// computes as many rows, whatever experts they are of; of the gradients of weights, as many columns of every expert.
// 16-bit operands are converted a piece at a time.
#include <algorithm>

#include "nadi/cpu/blocks.h"
#include "nadi/cpu/gemm.h"
#include "nadi/cpu/vector_math.h"
#include "nadi/graph/ops/expert_activations.h"
#include "nadi/graph/ops/grouped_matmul.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;  // of 16-bit operands

std::int64_t rows_in_use(const KernelCall& call, std::size_t counts) {
  std::int64_t rows = 0;
  for (std::int64_t e = 0; e < call.inputs[counts].elements(); ++e) rows += call.in<std::int32_t>(counts)[e];
  return rows;
}

// body(expert, first, end) for the rows of each expert that lie in [from, to).
template <class Body>
void each_run(const KernelCall& call, std::size_t counts, std::int64_t from, std::int64_t to,
              const Body& body) {
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < call.inputs[counts].elements() && row < to; ++e) {
    const std::int64_t end = row + call.in<std::int32_t>(counts)[e];
    const std::int64_t first = std::max(row, from), last = std::min(end, to);
    if (first < last) body(e, first, last);
    row = end;
  }
}

void zeros_behind(const KernelCall& call, std::size_t output, std::int64_t rows) {
  const Target target(call, output);
  const std::int64_t width = call.outputs[output].shape()[-1], elements = call.outputs[output].elements();
  for_each_part(elements - rows * width, call.threads, [&](std::int64_t first, std::int64_t end) {
    target.put_zeros(rows * width + first, end - first);
  });
}

bool all_fp32(std::initializer_list<DType> dtypes) {
  return std::ranges::all_of(dtypes, [](DType dtype) { return dtype == DType::kF32; });
}

std::int64_t floats(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(float));
}

// Per thread: rows of a and of the result, and one expert's weights.
std::int64_t product_elements(std::int64_t K, std::int64_t N) {
  return kRowsAtOnce * (K + N) + K * N;
}

std::int64_t product_workspace(const OpView& op, int threads) {
  using namespace grouped_matmul_input;
  if (all_fp32({op.input(kA).dtype, op.output(0).dtype})) return 0;
  return threads * floats(product_elements(op.in(kA)[1], op.output(0).shape[1]));
}

void grouped_matmul_kernel(const KernelCall& call) {
  using namespace grouped_matmul_input;
  const bool transposed = call.attributes().boolean("transpose_b");
  const std::int64_t K = call.shape(kA)[1], N = call.shape(kB)[transposed ? 1 : 2];
  const std::int64_t rows = rows_in_use(call, kCounts);
  const Source a(call.inputs[kA]), b(call.inputs[kB]);
  const Target y(call, 0);
  const bool direct = all_fp32({a.dtype(), y.dtype()});
  const auto product = [&](const float* left, const float* right, std::int64_t count, float* to, float beta) {
    gemm({.m = count,
          .n = N,
          .k = K,
          .a = left,
          .lda = K,
          .b = right,
          .ldb = transposed ? K : N,
          .transpose_b = transposed,
          .beta = beta,
          .c = to,
          .ldc = N});
  };
  const auto run = [&](std::int64_t from, std::int64_t to, int thread) {
    float* const packed = direct ? nullptr : call.workspace_of<float>(thread, product_elements(K, N));
    each_run(call, kCounts, from, to, [&](std::int64_t e, std::int64_t first, std::int64_t end) {
      if (direct)
        return product(reinterpret_cast<const float*>(a.at(first * K)),
                       reinterpret_cast<const float*>(b.at(e * K * N)), end - first,
                       reinterpret_cast<float*>(y.at(first * N)), y.accumulates() ? 1.0F : 0.0F);
      float* const rows_of_a = packed + K * N;
      float* const result = rows_of_a + kRowsAtOnce * K;
      convert_to_float(b.at(e * K * N), b.dtype(), K * N, packed);
      for (std::int64_t row = first; row < end; row += kRowsAtOnce) {
        const std::int64_t count = std::min(kRowsAtOnce, end - row);
        convert_to_float(a.at(row * K), a.dtype(), count * K, rows_of_a);
        product(rows_of_a, packed, count, result, 0);
        walk_blocks(0, count * N,
                    [&](std::int64_t i, std::int64_t block) { y.put(row * N + i, block, result + i); });
      }
    });
  };
  // One expert with all rows: the library's own threads share its weights.
  const bool single = direct && call.inputs[kCounts].elements() == 1;
  if (single)
    run(0, rows, 0);
  else
    parallel_for(rows, worthwhile_threads(rows * N, call.threads), run);
  zeros_behind(call, 0, rows);
}

// Per thread: rows of both operands, and its columns of one expert's gradient.
std::int64_t gradient_elements(std::int64_t K, std::int64_t columns) {
  return kRowsAtOnce * (K + columns) + K * columns;
}

std::int64_t gradient_workspace(const OpView& op, int threads) {
  using namespace grouped_matmul_grad_input;
  const std::int64_t K = op.in(kA)[1], N = op.in(kGradient)[1];
  return threads * floats(gradient_elements(K, divided_up(N, threads)));
}

// Thread t has columns [first, end) of dy, so rows of the gradient where that is [N, K].
void grouped_matmul_grad_kernel(const KernelCall& call) {
  using namespace grouped_matmul_grad_input;
  const bool transposed = call.attributes().boolean("transpose_b");
  const std::int64_t K = call.shape(kA)[1], N = call.shape(kGradient)[1];
  const std::int64_t E = call.inputs[kCounts].elements();
  const Source a(call.inputs[kA]), dy(call.inputs[kGradient]);
  const Target db(call, 0);
  const bool direct = all_fp32({a.dtype(), dy.dtype(), db.dtype()});
  const std::int64_t most_columns = divided_up(N, call.threads);
  parallel_for(N, call.threads, [&](std::int64_t first, std::int64_t end, int thread) {
    const std::int64_t columns = end - first;
    const auto product = [&](const float* rows, const float* gradients, std::int64_t stride,
                             std::int64_t count, float* to, std::int64_t to_stride, float beta) {
      if (transposed)
        gemm({.m = columns,
              .n = K,
              .k = count,
              .a = gradients,
              .lda = stride,
              .transpose_a = true,
              .b = rows,
              .ldb = K,
              .beta = beta,
              .c = to,
              .ldc = K});
      else
        gemm({.m = K,
              .n = columns,
              .k = count,
              .a = rows,
              .lda = K,
              .transpose_a = true,
              .b = gradients,
              .ldb = stride,
              .beta = beta,
              .c = to,
              .ldc = to_stride});
    };
    float* const rows_of_a = call.workspace_of<float>(thread, gradient_elements(K, most_columns));
    float* const rows_of_dy = rows_of_a + kRowsAtOnce * K;
    float* const sum = rows_of_dy + kRowsAtOnce * most_columns;
    std::int64_t row = 0;
    for (std::int64_t e = 0; e < E; ++e) {
      const std::int64_t count = call.in<std::int32_t>(kCounts)[e];
      const std::int64_t at = e * K * N + (transposed ? first * K : first);
      if (count > 0 && direct) {
        product(reinterpret_cast<const float*>(a.at(row * K)),
                reinterpret_cast<const float*>(dy.at(row * N + first)), N, count,
                reinterpret_cast<float*>(db.at(at)), N, db.accumulates() ? 1.0F : 0.0F);
        row += count;
        continue;
      }
      std::fill_n(sum, K * columns, 0.0F);
      for (const std::int64_t last = row + count; row < last;) {
        const std::int64_t piece = std::min(kRowsAtOnce, last - row);
        convert_to_float(a.at(row * K), a.dtype(), piece * K, rows_of_a);
        for (std::int64_t i = 0; i < piece; ++i)
          convert_to_float(dy.at((row + i) * N + first), dy.dtype(), columns, rows_of_dy + i * columns);
        product(rows_of_a, rows_of_dy, columns, piece, sum, columns, 1);
        row += piece;
      }
      const std::int64_t lines = transposed ? 1 : K, line = transposed ? columns * K : columns;
      for (std::int64_t i = 0; i < lines; ++i)
        walk_blocks(0, line, [&](std::int64_t from, std::int64_t block) {
          db.put(at + i * N + from, block, sum + i * line + from);
        });
    }
  });
}

void weighted_swiglu_kernel(const KernelCall& call) {
  using namespace weighted_swiglu_input;
  const std::int64_t W = call.shape(kGate)[1], rows = rows_in_use(call, kCounts);
  const Source gate(call.inputs[kGate]), up(call.inputs[kUp]);
  const Target y(call, 0);
  parallel_for(rows, worthwhile_threads(rows * W, call.threads),
               [&](std::int64_t from, std::int64_t end, int) {
                 for (std::int64_t row = from; row < end; ++row) {
                   const float weight = call.in<float>(kWeights)[row];
                   walk_blocks(row * W, (row + 1) * W, [&](std::int64_t first, std::int64_t count) {
                     Block gate_buffer, up_buffer, y_buffer;
                     const float* g = gate.load(first, count, gate_buffer);
                     const float* u = up.load(first, count, up_buffer);
                     float* to = y.begin(first, y_buffer);
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i)
                       to[i] = g[i] * sigmoid(g[i]).value * u[i] * weight;
                     y.end(first, count, to);
                   });
                 }
               });
  zeros_behind(call, 0, rows);
}

// silu(g) = g s with s = sigmoid(g), s' = s (1 - s), hence silu'(g) = s (1 + g (1 - s)).
void weighted_swiglu_grad_kernel(const KernelCall& call) {
  using namespace weighted_swiglu_input;
  const std::int64_t W = call.shape(kGate)[1], rows = rows_in_use(call, kCounts);
  const Source gate(call.inputs[kGate]), up(call.inputs[kUp]), dy(call.inputs[kGradient]);
  const Target dgate(call, 0), dup(call, 1), dweights(call, 2);
  parallel_for(rows, worthwhile_threads(rows * W, call.threads),
               [&](std::int64_t from, std::int64_t end, int) {
                 for (std::int64_t row = from; row < end; ++row) {
                   const float weight = call.in<float>(kWeights)[row];
                   float along = 0;
                   walk_blocks(row * W, (row + 1) * W, [&](std::int64_t first, std::int64_t count) {
                     Block gate_buffer, up_buffer, dy_buffer, dgate_buffer, dup_buffer;
                     const float* g = gate.load(first, count, gate_buffer);
                     const float* u = up.load(first, count, up_buffer);
                     const float* d = dy.load(first, count, dy_buffer);
                     float* to_gate = dgate.begin(first, dgate_buffer);
                     float* to_up = dup.begin(first, dup_buffer);
                     float sum = 0;
#pragma omp simd reduction(+ : sum)
                     for (std::int64_t i = 0; i < count; ++i) {
                       const Sigmoid s = sigmoid(g[i]);
                       const float gated = d[i] * g[i] * s.value;
                       sum += gated * u[i];
                       to_up[i] = gated * weight;
                       to_gate[i] = d[i] * u[i] * s.value * (1.0F + g[i] * s.complement) * weight;
                     }
                     along += sum;
                     dgate.end(first, count, to_gate);
                     dup.end(first, count, to_up);
                   });
                   dweights.put(row, 1, &along);
                 }
               });
  for (const std::size_t output : {0, 1, 2}) zeros_behind(call, output, rows);
}

void sigmoid_gate_kernel(const KernelCall& call) {
  const std::int64_t W = call.shape(0)[-1], rows = call.inputs[1].elements();
  const Source y(call.inputs[0]), gate(call.inputs[1]);
  const Target result(call, 0);
  parallel_for(rows, worthwhile_threads(rows * W, call.threads),
               [&](std::int64_t from, std::int64_t end, int) {
                 for (std::int64_t row = from; row < end; ++row) {
                   Block gate_buffer;
                   const float s = sigmoid(*gate.load(row, 1, gate_buffer)).value;
                   walk_blocks(row * W, (row + 1) * W, [&](std::int64_t first, std::int64_t count) {
                     Block y_buffer, result_buffer;
                     const float* of_y = y.load(first, count, y_buffer);
                     float* to = result.begin(first, result_buffer);
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) to[i] = of_y[i] * s;
                     result.end(first, count, to);
                   });
                 }
               });
}

void sigmoid_gate_grad_kernel(const KernelCall& call) {
  const std::int64_t W = call.shape(0)[-1], rows = call.inputs[1].elements();
  const Source y(call.inputs[0]), gate(call.inputs[1]), dy(call.inputs[2]);
  const Target dvalues(call, 0), dgate(call, 1);
  parallel_for(rows, worthwhile_threads(rows * W, call.threads),
               [&](std::int64_t from, std::int64_t end, int) {
                 for (std::int64_t row = from; row < end; ++row) {
                   Block gate_buffer;
                   const Sigmoid s = sigmoid(*gate.load(row, 1, gate_buffer));
                   float along = 0;
                   walk_blocks(row * W, (row + 1) * W, [&](std::int64_t first, std::int64_t count) {
                     Block y_buffer, dy_buffer, result_buffer;
                     const float* of_y = y.load(first, count, y_buffer);
                     const float* d = dy.load(first, count, dy_buffer);
                     float* to = dvalues.begin(first, result_buffer);
                     float sum = 0;
#pragma omp simd reduction(+ : sum)
                     for (std::int64_t i = 0; i < count; ++i) {
                       sum += d[i] * of_y[i];
                       to[i] = d[i] * s.value;
                     }
                     along += sum;
                     dvalues.end(first, count, to);
                   });
                   const float of_gate = along * s.value * s.complement;
                   dgate.put(row, 1, &of_gate);
                 }
               });
}

}  // namespace

const KernelEntry grouped_matmul_entry{grouped_matmul_kernel, product_workspace};
const KernelEntry grouped_matmul_grad_entry{grouped_matmul_grad_kernel, gradient_workspace};
const KernelEntry weighted_swiglu_entry{weighted_swiglu_kernel};
const KernelEntry weighted_swiglu_grad_entry{weighted_swiglu_grad_kernel};
const KernelEntry sigmoid_gate_entry{sigmoid_gate_kernel};
const KernelEntry sigmoid_gate_grad_entry{sigmoid_gate_grad_kernel};

}  // namespace nadi::inline engines::cpu
