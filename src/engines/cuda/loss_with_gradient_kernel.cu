// Cross entropy and its gradient in one pass over the logits, with the sums of the gradient over rows
// (loss_with_gradient.h). One block for each multiprocessor goes through rows. They come into a ring of
// chunks in shared memory, as far ahead as there is room. Of a row first the sum of its exponentials is
// taken, then its gradient, while the sum of the next row is taken; a chunk that all have read for the second
// time is filled anew. A thread has the same columns in every row, so that sums over rows stay in its
// registers.
//
// The sum of e^x wants a number to subtract from x that is near the row's largest, so that it neither
// overflows nor vanishes. Floats have room for e^60 in either direction, and rows of a batch are much alike:
// the logarithm of the sum of the row before will do. Where it does not, which the sum shows, the row's
// largest is looked for.
//
// Losses and statistics of rows are put down as floats on the way, and made of these by all threads at the
// end, since logarithms in double precision take one thread long.
#include "nadi/cuda/column_sums.cuh"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/logit_rows.cuh"
#include "nadi/cuda/loss_with_gradient.h"
#include "nadi/cuda/packed.cuh"
#include "nadi/cuda/ring_barrier.cuh"
#include "nadi/cuda/shared_memory_limit.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cuda {
namespace {

using namespace cross_entropy_input;

constexpr int kThreads = LossRing::kThreads;
constexpr int kWarps = kThreads / kWarp;
constexpr float kLog2E = 1.4426950408889634F;

struct LossTask {
  std::byte* logits;  // and their gradient
  std::int64_t rows;
  std::int64_t row_bytes;  // with the padding
  int columns, vocabulary;
  int chunks_of_row, chunks;
  Integers targets;
  const float* count;
  const float* dloss;
  float* statistics;
  double* losses;
  float* partials;  // [blocks, columns], where there are sums
};

__device__ inline float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Sum of e^(x - base) over what was seen; base is the largest, or 0 as long as all was minus infinity.
struct ExpSum {
  float largest = -INFINITY;
  float sum = 0;

  static __device__ float base_of(float largest) { return largest > -INFINITY ? largest : 0.0F; }
  // Puts the sum over to another base, that of the larger of the two.
  __device__ void raise(float other) {
    if (!(other > largest)) return;
    sum *= power_of_two((largest - other) * kLog2E);
    largest = other;
  }
};

// What warps tell each other of a row; sums in turns.
struct WarpSums {
  float4 sum[2][kWarps / 4];
  float4 largest[kWarps / 4], of_largest[kWarps / 4];
};

__device__ inline float sum_of(const float4 (&parts)[kWarps / 4]) {
  float sum = 0;
#pragma unroll
  for (const float4& four : parts) sum += (four.x + four.y) + (four.z + four.w);
  return sum;
}

// Adds over all warps, the same in each thread. `turn` is 0 and 1 in turns.
__device__ inline float sum_of_block(float own, WarpSums& of_warps, int turn) {
  own = warp_sum(own);
  if (threadIdx.x % kWarp == 0) reinterpret_cast<float*>(of_warps.sum[turn])[threadIdx.x / kWarp] = own;
  __syncthreads();
  return sum_of(of_warps.sum[turn]);
}
__device__ inline ExpSum sum_of_block(ExpSum own, WarpSums& of_warps) {
  own.raise(warp_max(own.largest));
  own.sum = warp_sum(own.sum);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) {
    reinterpret_cast<float*>(of_warps.largest)[threadIdx.x / kWarp] = own.largest;
    reinterpret_cast<float*>(of_warps.of_largest)[threadIdx.x / kWarp] = own.sum;
  }
  __syncthreads();
  ExpSum all;
  for (int w = 0; w < kWarps; ++w) {
    const float largest = reinterpret_cast<const float*>(of_warps.largest)[w];
    const float sum = reinterpret_cast<const float*>(of_warps.of_largest)[w];
    all.raise(largest);
    all.sum += sum * power_of_two((largest - ExpSum::base_of(all.largest)) * kLog2E);
  }
  return all;
}

// A chunk of the ring; behind the last comes the first. The phase is that of its barriers.
struct RingPlace {
  int chunk;
  unsigned phase;

  __device__ void step(int chunks) {
    if (++chunk < chunks) return;
    chunk = 0;
    phase ^= 1;
  }
};

// From the last row on: the product that made them has left its last ones in the cache.
__device__ inline std::int64_t row_of(const LossTask& task, int turn) {
  return task.rows - 1 - blockIdx.x - static_cast<std::int64_t>(turn) * gridDim.x;
}

// Copies the block's chunk `c` of the row of a turn to shared memory.
__device__ inline void fetch(const LossTask& task, int turn, int c, std::byte* to, RingBarrier& full) {
  const std::int64_t row = row_of(task, turn);
  if (row < 0) return;
  const std::int64_t at = c * LossRing::kChunk, left = task.row_bytes - at;
  const auto bytes = static_cast<unsigned>(left < LossRing::kChunk ? left : LossRing::kChunk);
  full.expect(bytes);
  copy_to_shared(to, task.logits + row * task.row_bytes + at, bytes, full);
}

template <class T>
class LossRows {
 public:
  static constexpr int kVector = Packed<T>::kElements;
  static constexpr int kChunkElements = kThreads * kVector;
  static constexpr int kMostSumChunks = LossRing::kSums / kVector;

  __device__ LossRows(const LossTask& task, std::byte* ring, RingBarrier* full, RingBarrier* empty)
      : task_(task),
        ring_(ring),
        full_(full),
        empty_(empty),
        row_elements_(static_cast<int>(task.row_bytes / sizeof(T))),
        factor_(*task.dloss / *task.count) {}

  __device__ void fill_ring() const {
    const auto i = static_cast<int>(threadIdx.x);
    if (i < task_.chunks)
      fetch(task_, i / task_.chunks_of_row, i % task_.chunks_of_row, chunk_of(i), full_[i]);
  }

  // Sums a row, whatever its numbers are.
  __device__ ExpSum exponentials(RingPlace at) const {
    ExpSum own;
#pragma unroll 1
    for (int c = 0; c < task_.chunks_of_row; ++c) {
      full_[at.chunk].wait(at.phase);
      if (const int left = task_.vocabulary - first_of(c); left > 0) {
        Packed<T> x = load(at);
        if (left < kVector) hide_from(x, left);
        float largest = x.at(0);
#pragma unroll
        for (int i = 1; i < kVector; ++i) largest = fmaxf(largest, x.at(i));
        own.raise(largest);
        own.sum += sum_of(x, -ExpSum::base_of(own.largest) * kLog2E);
      }
      at.step(task_.chunks);
    }
    return own;
  }

  // The logit of a column of the row that begins at a place.
  __device__ float value(const RingPlace& row, int column) const {
    int chunk = row.chunk + column / kChunkElements;
    if (chunk >= task_.chunks) chunk -= task_.chunks;
    return to_float(reinterpret_cast<const T*>(chunk_of(chunk))[column % kChunkElements]);
  }

  // Writes the gradient of a turn's row, and returns the thread's part of the sum of 2^(x log2(e) - base) of
  // the next row, if there is one. Chunks of the first are filled anew. `log_sum` and `base` are to the base
  // of 2. Of each chunk add(number of the chunk, values) is called.
  template <int kChunks, class Add>
  __device__ float gradients(int turn, RingPlace& at, float log_sum, std::int64_t target, float base,
                             const Add& add) const {
    const std::int64_t row = row_of(task_, turn);
    const bool has_next = row_of(task_, turn + 1) >= 0;
    const bool ignored = target == kIgnoredTarget;
    const int hit = target >= 0 && target < task_.vocabulary ? static_cast<int>(target) : -kVector;
    T* const to = reinterpret_cast<T*>(task_.logits + row * task_.row_bytes);
    RingPlace next{at.chunk + task_.chunks_of_row, at.phase};
    if (next.chunk >= task_.chunks) next = {next.chunk - task_.chunks, next.phase ^ 1};
    float sum = 0;
    const auto chunk = [&](int c) {
      const int first = first_of(c), left = task_.vocabulary - first;
      const bool in_row = first < row_elements_;
      Packed<T> x{}, x_next{};
      if (in_row) x = load(at);
      if (has_next) {
        full_[next.chunk].wait(next.phase);
        if (left > 0) x_next = load(next);
      }
      give_back(turn, c, at);
      at.step(task_.chunks);
      next.step(task_.chunks);
      if (has_next && left > 0) {
        if (left < kVector) hide_from(x_next, left);
        sum += sum_of(x_next, -base);
      }
      if (!in_row) return;
      float y[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) y[i] = power_of_two(fmaf(x.at(i), kLog2E, -log_sum)) * factor_;
      if (const int at_hit = hit - first; at_hit >= 0 && at_hit < kVector) {
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          if (i == at_hit) y[i] -= factor_;
      }
      if (ignored || left < kVector) {
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          if (ignored || i >= left) y[i] = 0;
      }
      store_packed(to + first, packed<T>(y));
      add(c, y);
    };
    if constexpr (kChunks > 0) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
        if (c < task_.chunks_of_row) chunk(c);
    } else {
#pragma unroll 2
      for (int c = 0; c < task_.chunks_of_row; ++c) chunk(c);
    }
    return sum;
  }

  __device__ static int first_of(int chunk) {
    return chunk * kChunkElements + static_cast<int>(threadIdx.x) * kVector;
  }

 private:
  __device__ std::byte* chunk_of(int i) const {
    return ring_ + i * LossRing::kChunk;
  }
  __device__ Packed<T> load(const RingPlace& at) const {
    return load_packed(reinterpret_cast<const T*>(chunk_of(at.chunk)) + threadIdx.x * kVector);
  }
  __device__ static float sum_of(const Packed<T>& x, float shift) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum += power_of_two(fmaf(x.at(i), kLog2E, shift));
    return sum;
  }
  // Columns from `left` on get no probability.
  __device__ static void hide_from(Packed<T>& x, int left) {
    float values[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[i] = i < left ? x.at(i) : -INFINITY;
    x = packed<T>(values);
  }

  // The warp has read chunk c of a turn for the last time. The chunk of a little before is filled anew, by
  // one warp after the other: by now nobody is so far behind that it would have to wait long.
  __device__ void give_back(int turn, int c, RingPlace at) const {
    constexpr int kBehind = 2;
    __syncwarp();
    if (threadIdx.x % kWarp != 0) return;
    empty_[at.chunk].arrive();
    if (static_cast<int>(threadIdx.x) / kWarp != c % kWarps || (turn == 0 && c < kBehind)) return;
    at.chunk -= kBehind;
    if (at.chunk < 0) at = {at.chunk + task_.chunks, at.phase ^ 1};
    // What comes into it is the ring's length further on.
    int ahead = c - kBehind + task_.chunks % task_.chunks_of_row;
    turn += task_.chunks / task_.chunks_of_row;
    if (ahead < 0) {
      ahead += task_.chunks_of_row;
      --turn;
    } else if (ahead >= task_.chunks_of_row) {
      ahead -= task_.chunks_of_row;
      ++turn;
    }
    if (row_of(task_, turn) < 0) return;
    empty_[at.chunk].wait(at.phase);
    fetch(task_, turn, ahead, chunk_of(at.chunk), full_[at.chunk]);
  }

  const LossTask& task_;
  std::byte* ring_;
  RingBarrier* full_;
  RingBarrier* empty_;
  int row_elements_;
  float factor_;
};

// What thread 0 of a block puts down of a row, until its loss is made of it.
struct RowRecord {
  float sum;
  float of_target;
};
static_assert(sizeof(RowRecord) == sizeof(double));

__device__ void make_losses(const LossTask& task) {
#pragma unroll 1
  for (int turn = static_cast<int>(threadIdx.x);; turn += kThreads) {
    const std::int64_t row = row_of(task, turn);
    if (row < 0) return;
    const RowRecord record = *reinterpret_cast<const RowRecord*>(task.losses + row);
    constexpr double kLn2 = 0.69314718055994530942;
    const double log_sum =
        static_cast<double>(task.statistics[row]) * kLn2 + log(static_cast<double>(record.sum));
    const std::int64_t target = task.targets[row];
    task.statistics[row] = static_cast<float>(log_sum);
    double loss = 0;
    if (target >= 0 && target < task.vocabulary)
      loss = log_sum - static_cast<double>(record.of_target);
    else if (target != kIgnoredTarget)
      loss = nan("");
    task.losses[row] = loss;
  }
}

template <class T, bool kSums>
__global__ void __launch_bounds__(kThreads, 1) losses_and_gradients(const __grid_constant__ LossTask task) {
  using Rows = LossRows<T>;
  constexpr int kVector = Rows::kVector, kSumChunks = kSums ? Rows::kMostSumChunks : 1;
  extern __shared__ __align__(128) std::byte ring[];
  __shared__ RingBarrier full[LossRing::kMostChunks], empty[LossRing::kMostChunks];
  __shared__ WarpSums of_warps;
  if (threadIdx.x < task.chunks) {
    full[threadIdx.x].begin(1);
    empty[threadIdx.x].begin(kWarps);
  }
  publish_barriers();
  __syncthreads();
  const Rows rows(task, ring, full, empty);
  rows.fill_ring();
  float sums[kSumChunks][kVector] = {};
  RingPlace at{};
  // Of the row, the sum of 2^(x log2(e) - base), with a base that the row before suggests.
  float base = 0, sum = 0;
  std::int64_t next_target = task.targets[row_of(task, 0)];
#pragma unroll 1
  for (int turn = 0;; ++turn) {
    const std::int64_t row = row_of(task, turn);
    if (row < 0) break;
    const std::int64_t target = next_target;
    if (row_of(task, turn + 1) >= 0) next_target = task.targets[row_of(task, turn + 1)];
    // Far from its largest, a number is lost in the sum or has none: then all anew.
    constexpr float kLeast = 1e-20F, kMost = 1e30F;
    if (!(sum > kLeast && sum < kMost)) {
      const ExpSum all = sum_of_block(rows.exponentials(at), of_warps);
      base = all.largest * kLog2E;
      sum = all.sum;
    }
    const float log_sum = base + log2f(sum);
    if (threadIdx.x == 0) {
      const bool counts = target >= 0 && target < task.vocabulary;
      task.statistics[row] = base;
      *reinterpret_cast<RowRecord*>(task.losses + row) = {
          sum, counts ? rows.value(at, static_cast<int>(target)) : 0.0F};
    }
    base = fabsf(log_sum) < INFINITY ? log_sum : 0.0F;
    const float own = rows.template gradients < kSums
                          ? kSumChunks
                          : 0 > (turn, at, log_sum, target, base, [&](int c, const float(&y)[kVector]) {
                              if constexpr (kSums)
#pragma unroll
                                for (int i = 0; i < kVector; ++i) sums[c][i] += y[i];
                            });
    sum = sum_of_block(own, of_warps, turn % 2);
  }
  __syncthreads();
  make_losses(task);
  if constexpr (kSums) {
    float* const part = task.partials + static_cast<std::int64_t>(blockIdx.x) * task.columns;
#pragma unroll
    for (int c = 0; c < kSumChunks; ++c)
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        if (Rows::first_of(c) + i < task.columns) part[Rows::first_of(c) + i] = sums[c][i];
  }
}

// Whether rows are as the kernel likes them, and the gradient takes the place of the logits.
bool is_one_pass(const OpCall& gradient, bool sums, const DeviceTraits& traits) {
  const Operand& logits = gradient.inputs[kLogits];
  const Operand& result = gradient.outputs[0];
  const auto element_size = static_cast<int>(size_of(logits.dtype()));
  const std::int64_t row_bytes = logits.row_stride() * element_size;
  return logits.data == result.data && logits.row_stride() == result.row_stride() && logits.rows() > 0 &&
         is_aligned(logits.data, 16) && row_bytes % 16 == 0 &&
         LossRing(row_bytes, sums, element_size, traits).chunks > 0;
}

}  // namespace

// cross_entropy, and further on cross_entropy_grad [sum_rows].
void loss_with_gradient_kernel(const KernelCall& call) {
  const OpCall& loss = call.ops[0];
  const OpCall& gradient = call.ops[1];
  const bool has_sums = call.ops.size() > 2;
  const DeviceTraits& traits = call.device.traits();
  if (!is_one_pass(gradient, has_sums, traits)) return cross_entropy_kernel(call);
  const Operand& logits = loss.inputs[kLogits];
  const auto element_size = static_cast<int>(size_of(logits.dtype()));
  const std::int64_t rows = logits.rows(), columns = logits.columns();
  const std::int64_t row_bytes = logits.row_stride() * element_size;
  const LossRing ring(row_bytes, has_sums, element_size, traits);
  auto* const losses = reinterpret_cast<double*>(call.workspace.data());
  auto* const partials = reinterpret_cast<float*>(losses + rows);
  const LossTask task{.logits = logits.data,
                      .rows = rows,
                      .row_bytes = row_bytes,
                      .columns = static_cast<int>(columns),
                      .vocabulary = static_cast<int>(loss.attributes().integer("vocabulary")),
                      .chunks_of_row = ring.chunks_of_row,
                      .chunks = ring.chunks,
                      .targets = integers_of(loss, kTargets),
                      .count = loss.in<float>(kCount),
                      .dloss = gradient.in<float>(kGradient),
                      .statistics = loss.out<float>(1),
                      .losses = losses,
                      .partials = partials};
  const std::int64_t blocks = loss_blocks(rows, traits);
  const auto launch = [&](auto kernel) {
    allow_shared_memory(kernel, static_cast<std::size_t>(ring.shared_memory()));
    kernel<<<static_cast<unsigned>(blocks), kThreads, ring.shared_memory(), call.stream>>>(task);
  };
  with_type(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (has_sums)
      launch(losses_and_gradients<T, true>);
    else
      launch(losses_and_gradients<T, false>);
  });
  check_launch(call);
  if (has_sums) {
    check(call.ops[2].outputs[0].elements() == columns, "a fused sum over rows keeps the vocabulary");
    finish_column_sums(call, {.parts = partials,
                              .part_count = blocks,
                              .columns = columns,
                              .targets = {sum_target(call.ops[2], 0)},
                              .count = 1});
    check_launch(call);
  }
  put_loss(call);
}

// cross_entropy_grad [sum_rows]
void gradient_of_loss_kernel(const KernelCall& call) {
  const bool has_sums = call.ops.size() > 1;
  if (is_one_pass(call.ops[0], has_sums, call.device.traits())) return;
  if (has_sums)
    loss_grad_sums_kernel(call);
  else
    cross_entropy_grad_kernel(call);
}

}  // namespace nadi::inline engines::cuda
