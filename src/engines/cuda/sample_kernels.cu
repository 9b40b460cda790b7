// Choosing the next token. Decoding has few rows, of a hundred thousand logits each, so all blocks work on
// parts of one row.
//
// Sampling follows graph/ops/decoding.h: the row is sorted by decreasing logit, equal ones by index
// (radix_sort.cuh); weights are summed by parts of 1024 tokens; then one block per row finds the part in
// which a sum is crossed, and in it the token. Sums are those of double precision in a fixed order, which
// differs from that of the definition by some 1e-15 of the whole.
//
// Settings are read on the device, where they cannot be refused: a temperature that is no positive number
// takes the likeliest token, a top_k that is not positive stands for no limit, and top_p is limited to 0
// to 1.
#include "nadi/base/random.h"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/logit_rows.cuh"
#include "nadi/cuda/radix_sort.cuh"
#include "nadi/cuda/sample_workspace.h"
#include "nadi/graph/ops/decoding.h"

namespace nadi::inline engines::cuda {
namespace {

// Unsigned numbers in the order of floats; 0 and -0 are one.
__device__ std::uint32_t in_order(float x) {
  const std::uint32_t bits = __float_as_uint(x + 0.0F);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// --- The largest logit

// The largest of some logits, and of equal ones the first. NaN is passed over.
struct Best {
  float value = -INFINITY;
  std::uint32_t column = 0xffffffffU;

  template <int N>
  __device__ void add(const float (&x)[N], std::uint32_t first) {
    float largest = x[0];
#pragma unroll
    for (int k = 1; k < N; ++k) largest = fmaxf(largest, x[k]);
    if (!(largest > value || (largest == value && first < column))) return;
    value = largest;
#pragma unroll
    for (int k = N - 1; k >= 0; --k)
      if (x[k] == largest) column = first + k;
  }

  // Larger for a better one.
  __device__ std::uint64_t rank() const {
    return std::uint64_t{in_order(value)} << 32 | ~column;
  }
};

// Where nothing is larger than minus infinity, the first column.
__device__ std::int32_t column_of(std::uint64_t rank) {
  const bool nothing = static_cast<std::uint32_t>(rank >> 32) == in_order(-INFINITY);
  return nothing ? 0 : static_cast<std::int32_t>(~static_cast<std::uint32_t>(rank));
}

// Over all threads of a block, the same result in each.
__device__ std::uint64_t block_largest(std::uint64_t x) {
  __shared__ std::uint64_t of_warps[kWarp];
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto over_warp = [](std::uint64_t y) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) y = max(y, __shfl_xor_sync(kWholeWarp, y, offset));
    return y;
  };
  x = over_warp(x);
  __syncthreads();
  if (lane == 0) of_warps[warp] = x;
  __syncthreads();
  return over_warp(lane < static_cast<int>(blockDim.x) / kWarp ? of_warps[lane] : 0);
}

constexpr int kArgmaxThreads = 256;

// A block per part of a row. With one part per row, `tokens` take the result.
template <class T>
__global__ void __launch_bounds__(kArgmaxThreads)
    best_of_parts(LogitRows<T> logits, int vocabulary, int part_columns, std::uint64_t* ranks,
                  std::int32_t* tokens) {
  const int first = static_cast<int>(blockIdx.x) * part_columns;
  const int count = min(part_columns, vocabulary - first);
  Best own;
  if (count > 0)
    walk_row(logits.row(blockIdx.y) + first, count,
             [&](const auto& x, int column) { own.add(x, static_cast<std::uint32_t>(first + column)); });
  const std::uint64_t rank = block_largest(own.rank());
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1)
    tokens[blockIdx.y] = column_of(rank);
  else
    ranks[std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = rank;
}

__global__ void __launch_bounds__(kArgmaxThreads)
    best_of_rows(const std::uint64_t* ranks, int parts, std::int32_t* tokens) {
  std::uint64_t rank = 0;
  for (int part = static_cast<int>(threadIdx.x); part < parts; part += kArgmaxThreads)
    rank = max(rank, ranks[std::int64_t{blockIdx.x} * parts + part]);
  rank = block_largest(rank);
  if (threadIdx.x == 0) tokens[blockIdx.x] = column_of(rank);
}

// --- Sampling

constexpr int kPart = SamplePlan::kPart;

__device__ float without_nan(float x) {
  return isnan(x) ? -INFINITY : x;
}

// Logits as integers that grow as logits fall. Those of 16 bits have keys of 16 bits: half the passes.
template <class T>
struct KeyOfLogit {
  LogitRows<T> logits;

  __device__ std::uint32_t operator()(std::int64_t row, int i) const {
    const float x = without_nan(to_float(logits.row(row)[i])) + 0.0F;
    if constexpr (sizeof(T) == 4) return ~in_order(x);
    const T clean = from_float<T>(x);
    const std::uint32_t bits = *reinterpret_cast<const std::uint16_t*>(&clean);
    return (bits & 0x8000U) != 0 ? bits : ~bits & 0x7fffU;
  }
};

struct Settings {
  bool greedy;
  double temperature;
  int top_k;
  double top_p;

  __device__ Settings(const float* sampling, int vocabulary)
      : greedy(!(sampling[0] > 0 && sampling[0] < INFINITY)),
        temperature(sampling[0]),
        top_k(vocabulary),
        top_p(sampling[2] < 1 ? (sampling[2] > 0 ? sampling[2] : 0.0F) : 1.0F) {
    if (sampling[1] >= 1 && sampling[1] < static_cast<float>(vocabulary))
      top_k = static_cast<int>(sampling[1]);
  }
};

// A row in the order of decreasing logits.
template <class T>
struct OrderedRow {
  const T* logits;
  const std::uint32_t* tokens;

  __device__ float logit(int i) const { return without_nan(to_float(logits[tokens[i]])); }
  // Weight of token number i of those that are kept.
  __device__ double weight(int i, const Settings& settings, double largest) const {
    return i < settings.top_k ? exp((logit(i) - largest) / settings.temperature) : 0;
  }
};

// The sum up to each thread of a block of kPart threads, itself included.
__device__ double block_sums_up_to(double x) {
  __shared__ double of_warps[kPart / kWarp];
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const double other = __shfl_up_sync(kWholeWarp, x, offset);
    if (lane >= offset) x += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) of_warps[warp] = x;
  __syncthreads();
  double before = 0;
  for (int w = 0; w < warp; ++w) before += of_warps[w];
  return before + x;
}

// A block per part of an ordered row.
template <class T>
__global__ void __launch_bounds__(kPart) sum_weights(LogitRows<T> logits, const std::uint32_t* tokens,
                                                     const float* sampling, int vocabulary, double* sums) {
  const Settings settings(sampling, vocabulary);
  if (settings.greedy) return;
  const std::int64_t row = blockIdx.y;
  double* sum = sums + row * gridDim.x + blockIdx.x;
  if (static_cast<int>(blockIdx.x) * kPart >= settings.top_k) {
    if (threadIdx.x == 0) *sum = 0;
    return;
  }
  const OrderedRow<T> ordered{logits.row(row), tokens + row * vocabulary};
  const auto largest = static_cast<double>(ordered.logit(0));
  const double weight =
      ordered.weight(static_cast<int>(blockIdx.x) * kPart + static_cast<int>(threadIdx.x), settings, largest);
  const double up_to = block_sums_up_to(weight);
  if (threadIdx.x == kPart - 1) *sum = up_to;
}

struct Crossing {
  int place;   // in the ordered row
  double sum;  // of the weights up to it
};

// The first token, in order, with which the sum of weights exceeds `target`; `target` is below the whole.
// All threads of a block together, the same result in each.
template <class T>
__device__ Crossing crossing(const OrderedRow<T>& ordered, const Settings& settings, const double* sums,
                             int parts, double target) {
  __shared__ int last_with_weight, first_beyond;
  __shared__ double sum_there;
  int part = 0;
  double start = 0, end = sums[0];
  while (!(end > target) && part + 1 < parts) {
    start = end;
    end += sums[++part];
  }
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    last_with_weight = 0;
    first_beyond = kPart;
  }
  const double largest = ordered.logit(0);
  const double weight = ordered.weight(part * kPart + thread, settings, largest);
  const double sum = start + block_sums_up_to(weight);  // its barriers stand behind the assignments above
  if (weight > 0) atomicMax(&last_with_weight, thread);
  if (sum > target) atomicMin(&first_beyond, thread);
  __syncthreads();
  const int found = min(first_beyond, last_with_weight);
  if (thread == found) sum_there = sum;
  __syncthreads();
  // In this order the sum of the whole part may be another by rounding. It must not reach into the next.
  const Crossing result{part * kPart + found, fmin(sum_there, end)};
  __syncthreads();
  return result;
}

struct RandomInput {
  Integers values;  // seed, step, number of the first sample
  std::uint64_t site;

  __device__ double number(std::int64_t row) const {
    const RandomKey key{.seed = static_cast<std::uint64_t>(values[0]),
                        .step = static_cast<std::uint64_t>(values[1]),
                        .site = site};
    const auto index = static_cast<std::uint64_t>(values[2] + row);
    const RandomBlock words = random_block(key, index / 2);
    const bool odd = index % 2 != 0;
    const std::uint64_t bits = std::uint64_t{odd ? words[2] : words[0]} << 32 | (odd ? words[3] : words[1]);
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }
};

// A block per row. Without a temperature nothing was sorted.
template <class T>
__global__ void __launch_bounds__(kPart)
    draw_tokens(LogitRows<T> logits, const std::uint32_t* tokens, const float* sampling, int vocabulary,
                const double* sums, int parts, RandomInput random, std::int32_t* chosen) {
  extern __shared__ double own_sums[];
  const std::int64_t row = blockIdx.x;
  const Settings settings(sampling, vocabulary);
  const OrderedRow<T> ordered{logits.row(row), tokens + row * vocabulary};
  if (settings.greedy || !isfinite(ordered.logit(0))) {
    Best own;
    walk_row(logits.row(row), vocabulary,
             [&](const auto& x, int column) { own.add(x, static_cast<std::uint32_t>(column)); });
    const std::uint64_t rank = block_largest(own.rank());
    if (threadIdx.x == 0) chosen[row] = column_of(rank);
    return;
  }
  for (int part = static_cast<int>(threadIdx.x); part < parts; part += kPart)
    own_sums[part] = sums[row * parts + part];
  __syncthreads();
  double kept = 0;
  for (int part = 0; part < parts; ++part) kept += own_sums[part];
  // To reach a sum is to exceed the number below it.
  if (settings.top_p < 1)
    kept = crossing(ordered, settings, own_sums, parts, nextafter(settings.top_p * kept, -1.0)).sum;
  // number * kept may round to the whole of it, which no sum exceeds.
  const double target = fmin(random.number(row) * kept, nextafter(kept, 0.0));
  const Crossing found = crossing(ordered, settings, own_sums, parts, target);
  if (threadIdx.x == 0) chosen[row] = static_cast<std::int32_t>(ordered.tokens[found.place]);
}

}  // namespace

void argmax_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const ArgmaxPlan plan(op.op, call.device.traits());
  if (plan.rows == 0) return;
  auto* ranks = reinterpret_cast<std::uint64_t*>(call.workspace.data());
  with_type(op.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const dim3 grid(static_cast<unsigned>(plan.parts), static_cast<unsigned>(plan.rows));
    best_of_parts<<<grid, kArgmaxThreads, 0, call.stream>>>(
        LogitRows<T>(op.inputs[0]), static_cast<int>(plan.vocabulary), static_cast<int>(plan.part_columns),
        ranks, op.out<std::int32_t>(0));
  });
  if (plan.parts > 1)
    best_of_rows<<<static_cast<unsigned>(plan.rows), kArgmaxThreads, 0, call.stream>>>(
        ranks, static_cast<int>(plan.parts), op.out<std::int32_t>(0));
  check_launch(call);
}

void sample_kernel(const KernelCall& call) {
  using namespace sample_input;
  const OpCall& op = call.op();
  const SamplePlan plan(op.op);
  if (plan.rows == 0) return;
  const auto* sampling = op.in<float>(kSampling);
  const auto vocabulary = static_cast<int>(plan.vocabulary), parts = static_cast<int>(plan.parts());
  const auto rows = static_cast<unsigned>(plan.rows);
  auto* sums = reinterpret_cast<double*>(call.workspace.data() + plan.sort().bytes());
  const RandomInput random{integers_of(op, kRandom),
                           static_cast<std::uint64_t>(op.attributes().integer("site"))};
  with_type(op.dtype(kLogits), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LogitRows<T> logits(op.inputs[kLogits]);
    const SortedRows sorted =
        sort_rows(plan.sort(), KeyOfLogit<T>{logits},
                  {.workspace = call.workspace.data(), .stream = call.stream, .unless_zero = sampling});
    sum_weights<<<dim3(static_cast<unsigned>(parts), rows), kPart, 0, call.stream>>>(
        logits, sorted.positions, sampling, vocabulary, sums);
    draw_tokens<<<rows, kPart, parts * sizeof(double), call.stream>>>(
        logits, sorted.positions, sampling, vocabulary, sums, parts, random, op.out<std::int32_t>(0));
  });
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
