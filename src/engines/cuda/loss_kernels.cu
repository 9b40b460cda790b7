// Cross entropy, whole and with the vocabulary split over ranks. Rows have 50 thousand logits and more, so
// what counts is that they are read once: each block has a row, each of its threads a running maximum and sum
// of exponentials, which are put together at the end. The gradient reads and writes each logit once, mostly
// in place.
//
// Rows may be padded in memory (padded_rows.h). The gradient is zero in the padding, since products read it.
//
// Losses of rows are kept in double precision and added in an order that does not depend on timing. A target
// that is not in the vocabulary cannot be refused here: it makes the loss NaN.
#include <algorithm>

#include "nadi/base/round_up.h"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/logit_rows.cuh"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cuda {
namespace {

using namespace cross_entropy_input;

// Threads of a block that has one row; `usual` where there are rows for all.
int row_threads(const KernelCall& call, std::int64_t rows, std::int64_t columns, std::int64_t usual) {
  const std::int64_t wanted = rows < call.device.traits().multiprocessors * std::int64_t{4} ? 1024 : usual;
  constexpr std::int64_t kColumnsPerThread = 8;
  return static_cast<int>(
      std::clamp<std::int64_t>(rounded_up(divided_up(columns, kColumnsPerThread), kWarp), kWarp, wanted));
}

// Sum of e^(x - base) over what was seen; base is the largest, or 0 as long as all was minus infinity.
struct RunningSum {
  float largest = -INFINITY;
  float base = 0;
  float sum = 0;

  template <int N>
  __device__ void add(const float (&x)[N]) {
    float of_these = x[0];
#pragma unroll
    for (int k = 1; k < N; ++k) of_these = fmaxf(of_these, x[k]);
    if (of_these > largest) {
      sum *= quick_exp(largest - of_these);
      largest = base = of_these;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) sum += quick_exp(x[k] - base);
  }
};

template <class T>
__global__ void __launch_bounds__(1024)
    row_losses(LogitRows<T> logits, int vocabulary, Integers targets, float* statistics, double* losses) {
  __shared__ float scratch[kWarp];
  // From the last row on, so that the gradient, which starts with the first one, finds some in the cache.
  const std::int64_t row = gridDim.x - 1 - blockIdx.x;
  const T* values = logits.row(row);
  RunningSum own;
  walk_row(values, vocabulary, [&](const auto& x, int) { own.add(x); });
  const float largest = block_max(own.largest, scratch);
  const float base = largest > -INFINITY ? largest : 0.0F;
  const float scaled = own.largest > -INFINITY ? own.sum * expf(own.largest - base) : own.sum;
  const float sum = block_sum(scaled, scratch);
  if (threadIdx.x != 0) return;
  const double log_sum = static_cast<double>(largest) + log(static_cast<double>(sum));
  statistics[row] = static_cast<float>(log_sum);
  const std::int64_t target = targets[row];
  double loss = 0;
  if (target >= 0 && target < vocabulary)
    loss = log_sum - static_cast<double>(to_float(values[target]));
  else if (target != kIgnoredTarget)
    loss = nan("");
  losses[row] = loss;
}

__global__ void __launch_bounds__(1024)
    sum_losses(const double* losses, std::int64_t rows, const float* count, float* loss, bool accumulate) {
  __shared__ double of_warps[kWarp];
  double sum = 0;
#pragma unroll 8
  for (std::int64_t row = threadIdx.x; row < rows; row += 1024) sum += losses[row];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, offset);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (int warp = 0; warp < kWarp; ++warp) sum += of_warps[warp];
  const auto value = static_cast<float>(sum / static_cast<double>(*count));
  *loss = accumulate ? *loss + value : value;
}

template <class T>
__device__ void put_zeros(T* row, int count) {
  constexpr int kVector = kVectorOf<T>;
  const RowParts<T> parts(row, count);
  for (int v = static_cast<int>(threadIdx.x); v < parts.vectors; v += static_cast<int>(blockDim.x))
    *reinterpret_cast<uint4*>(row + parts.head + v * kVector) = uint4{};
  for (int i = static_cast<int>(threadIdx.x); i < parts.rest; i += static_cast<int>(blockDim.x))
    row[parts.single(i)] = from_float<T>(0);
}

// d logits = (softmax - one-hot target) * d loss / count; zero in ignored rows and padded columns.
template <class T>
__global__ void __launch_bounds__(1024)
    logit_gradients(LogitRows<T> logits, std::int64_t vocabulary, Integers targets, Integers place,
                    const float* count, const float* statistics, const float* dloss, T* gradients,
                    std::int64_t gradient_stride) {
  const std::int64_t row = blockIdx.x;
  const OwnColumns own(logits.columns, vocabulary, place);
  const float factor = *dloss / *count, log_sum = statistics[row];
  const std::int64_t target = targets[row];
  const int used = target == kIgnoredTarget ? 0 : own.count;
  // The column of the target, or one that is never met.
  const bool mine = target >= own.first && target < own.first + own.count;
  const int hit = mine ? static_cast<int>(target - own.first) : -1;
  T* to = gradients + row * gradient_stride;
  const bool same_offset =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(logits.row(row))) % 16 == 0;
  if (same_offset) {
    walk_row(logits.row(row), used, [&](const auto& x, int first) {
      constexpr int N = sizeof(x) / sizeof(x[0]);
      float y[N];
#pragma unroll
      for (int k = 0; k < N; ++k) y[k] = quick_exp(x[k] - log_sum) * factor;
      if (hit >= first && hit < first + N) {
#pragma unroll
        for (int k = 0; k < N; ++k)
          if (first + k == hit) y[k] -= factor;
      }
      Vector<T, N> rounded;
#pragma unroll
      for (int k = 0; k < N; ++k) rounded.set(k, y[k]);
      store_vector(to + first, rounded);
    });
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < used; i += static_cast<int>(blockDim.x)) {
      const float probability = quick_exp(to_float(logits.row(row)[i]) - log_sum);
      to[i] = from_float<T>(probability * factor - (i == hit ? factor : 0.0F));
    }
  }
  put_zeros(to + used, static_cast<int>(gradient_stride) - used);
}

template <class T>
__global__ void __launch_bounds__(1024)
    row_maxima(LogitRows<T> logits, std::int64_t vocabulary, Integers place, float* maxima) {
  __shared__ float scratch[kWarp];
  const OwnColumns own(logits.columns, vocabulary, place);
  float largest = -INFINITY;
  walk_row(logits.row(blockIdx.x), own.count, [&](const auto& x, int) {
    for (const float value : x) largest = fmaxf(largest, value);
  });
  largest = block_max(largest, scratch);
  if (threadIdx.x == 0) maxima[blockIdx.x] = largest;
}

template <class T>
__global__ void __launch_bounds__(1024)
    row_sums(LogitRows<T> logits, std::int64_t vocabulary, Integers targets, const float* maxima,
             Integers place, float* sums) {
  __shared__ float scratch[kWarp];
  const std::int64_t row = blockIdx.x, rows = gridDim.x;
  const OwnColumns own(logits.columns, vocabulary, place);
  const float largest = maxima[row];
  float sum = 0;
  walk_row(logits.row(row), own.count, [&](const auto& x, int) {
    for (const float value : x) sum += quick_exp(value - largest);
  });
  sum = block_sum(sum, scratch);
  if (threadIdx.x != 0) return;
  const std::int64_t target = targets[row] - own.first;
  const bool mine = target >= 0 && target < own.count;
  sums[row] = sum;
  sums[rows + row] = mine ? to_float(logits.row(row)[target]) - largest : 0.0F;
}

// `sums` are of all ranks: e^(logit - maximum) over the vocabulary, then the target's logit less the maximum.
__global__ void __launch_bounds__(256)
    losses_of_sums(Integers targets, std::int64_t vocabulary, const float* maxima, const float* sums,
                   float* statistics, double* losses) {
  const std::int64_t rows = targets.count, row = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (row >= rows) return;
  const double log_denominator = log(static_cast<double>(sums[row]));
  const std::int64_t target = targets[row];
  statistics[row] = static_cast<float>(static_cast<double>(maxima[row]) + log_denominator);
  double loss = 0;
  if (target >= 0 && target < vocabulary)
    loss = log_denominator - static_cast<double>(sums[rows + row]);
  else if (target != kIgnoredTarget)
    loss = nan("");
  losses[row] = loss;
}

// launch(tag of the type of logits, blocks, threads), where there are rows.
template <class Launch>
void launch_rows(const KernelCall& call, const Launch& launch, std::int64_t usual_threads = 256) {
  const Operand& logits = call.op().inputs[kLogits];
  const std::int64_t rows = logits.columns() > 0 ? logits.rows() : 0;
  if (rows == 0) return;
  const int threads = row_threads(call, rows, logits.columns(), usual_threads);
  with_type(logits.dtype(), [&](auto tag) { launch(tag, static_cast<unsigned>(rows), threads); });
  check_launch(call);
}

}  // namespace

void put_loss(const KernelCall& call) {
  const OpCall& op = call.op();
  sum_losses<<<1, 1024, 0, call.stream>>>(reinterpret_cast<const double*>(call.workspace.data()),
                                          op.inputs[kTargets].elements(), op.in<float>(kCount),
                                          op.out<float>(0), op.accumulates(0));
  check_launch(call);
}

// Output 1 is, per row, log of the sum of exp(logit) over the vocabulary.
void cross_entropy_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_rows(call, [&](auto tag, unsigned rows, int threads) {
    using T = typename decltype(tag)::type;
    row_losses<T><<<rows, threads, 0, call.stream>>>(
        LogitRows<T>(op.inputs[kLogits]), static_cast<int>(op.attributes().integer("vocabulary")),
        integers_of(op, kTargets), op.out<float>(1), reinterpret_cast<double*>(call.workspace.data()));
  });
  put_loss(call);
}

void cross_entropy_grad_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_rows(
      call,
      [&](auto tag, unsigned rows, int threads) {
        using T = typename decltype(tag)::type;
        logit_gradients<T><<<rows, threads, 0, call.stream>>>(
            LogitRows<T>(op.inputs[kLogits]), op.attributes().integer("vocabulary"),
            integers_of(op, kTargets), integers_of(op, kPlace), op.in<float>(kCount),
            op.in<float>(kStatistics), op.in<float>(kGradient), op.out<T>(0), op.outputs[0].row_stride());
      },
      512);
}

// Inputs: logits, place. Minus infinity where all columns are padding.
void vocab_max_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_rows(call, [&](auto tag, unsigned rows, int threads) {
    using T = typename decltype(tag)::type;
    row_maxima<T><<<rows, threads, 0, call.stream>>>(LogitRows<T>(op.inputs[kLogits]),
                                                     op.attributes().integer("vocabulary"),
                                                     integers_of(op, 1), op.out<float>(0));
  });
}

// Inputs: logits, targets, maximum, place. Output: [2, rows].
void vocab_sums_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_rows(call, [&](auto tag, unsigned rows, int threads) {
    using T = typename decltype(tag)::type;
    row_sums<T><<<rows, threads, 0, call.stream>>>(
        LogitRows<T>(op.inputs[kLogits]), op.attributes().integer("vocabulary"), integers_of(op, kTargets),
        op.in<float>(2), integers_of(op, 3), op.out<float>(0));
  });
}

void sharded_cross_entropy_kernel(const KernelCall& call) {
  using sharded_cross_entropy_input::kMaximum;
  using sharded_cross_entropy_input::kSums;
  const OpCall& op = call.op();
  const Integers targets = integers_of(op, kTargets);
  if (targets.count > 0)
    losses_of_sums<<<blocks_for(targets.count, 256), 256, 0, call.stream>>>(
        targets, op.attributes().integer("vocabulary"), op.in<float>(kMaximum), op.in<float>(kSums),
        op.out<float>(1), reinterpret_cast<double*>(call.workspace.data()));
  put_loss(call);
}

}  // namespace nadi::inline engines::cuda
