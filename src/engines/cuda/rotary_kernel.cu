// Rotary position embedding. Letters: B sequences, T tokens, H heads, D width of a head.
//
// A block has a few tokens. Its threads make their sines and cosines, once for all heads, in shared memory,
// and then turn the heads. Frequencies are computed on the host and are parameters of the kernel. Angles
// reach 131072 and more, so they are reduced to a turn in double precision.
#include "nadi/graph/ops/rotary.h"

#include <algorithm>
#include <array>
#include <vector>

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/kernels.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostFrequencies = 256;  // of one launch; heads wider than twice that take several
constexpr int kMostTokens = 16;        // of a block

struct Tokens {
  void* data;
  DType dtype;
  std::int64_t batch_stride, token_stride;  // in elements; those of a token lie together
};

struct Rotary {
  Tokens x, y;
  bool accumulate;
  std::int64_t B, T;
  int H, D;
  int tokens;  // of a block
  const std::int32_t* positions;
  const std::int32_t* token_positions;
  double direction;
  int first_frequency, frequency_count;
  double frequencies[kMostFrequencies];
};

__device__ float2 cosine_and_sine(double angle) {
  constexpr double kTurn = 6.283185307179586477;  // rounded to double
  constexpr double kTurnRest = 2.4492935982947064e-16;
  const double turns = rint(angle * (1 / kTurn));
  const double rest = fma(-turns, kTurnRest, fma(-turns, kTurn, angle));
  float sine, cosine;
  sincosf(static_cast<float>(rest), &sine, &cosine);
  return {cosine, sine};
}

template <class T, int kVector>
__global__ void __launch_bounds__(kThreads) turn_heads(const __grid_constant__ Rotary rotary) {
  extern __shared__ float2 table[];  // [tokens of the block, frequencies]
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rotary.tokens;
  const std::int64_t left = rotary.B * rotary.T - first;
  const int tokens = left < rotary.tokens ? static_cast<int>(left) : rotary.tokens;
  const int count = rotary.frequency_count;
  for (int i = static_cast<int>(threadIdx.x); i < tokens * count; i += kThreads) {
    const std::int64_t token = first + i / count, b = token / rotary.T, t = token % rotary.T;
    std::int64_t position = t;
    if (rotary.token_positions != nullptr)
      position = rotary.token_positions[t];
    else if (rotary.positions != nullptr)
      position += rotary.positions[b];
    table[i] =
        cosine_and_sine(rotary.direction * static_cast<double>(position) * rotary.frequencies[i % count]);
  }
  __syncthreads();

  const int half = rotary.D / 2, per_head = count / kVector, per_token = rotary.H * per_head;
  for (int i = static_cast<int>(threadIdx.x); i < tokens * per_token; i += kThreads) {
    const int token = i / per_token, head = i % per_token / per_head;
    const int frequency = i % per_head * kVector;
    const std::int64_t b = (first + token) / rotary.T, t = (first + token) % rotary.T;
    const std::int64_t element =
        static_cast<std::int64_t>(head) * rotary.D + rotary.first_frequency + frequency;
    const T* x = static_cast<const T*>(rotary.x.data) + b * rotary.x.batch_stride +
                 t * rotary.x.token_stride + element;
    T* y = static_cast<T*>(rotary.y.data) + b * rotary.y.batch_stride + t * rotary.y.token_stride + element;
    const auto low = load_vector<T, kVector>(x), high = load_vector<T, kVector>(x + half);
    Vector<T, kVector> turned_low, turned_high;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const float2 turn = table[token * count + frequency + j];
      turned_low.set(j, low.at(j) * turn.x - high.at(j) * turn.y);
      turned_high.set(j, high.at(j) * turn.x + low.at(j) * turn.y);
    }
    store_vector(y, turned_low);
    store_vector(y + half, turned_high);
  }
}

// Any types of x and y, and addition to what is there.
__global__ void __launch_bounds__(kThreads) turn_any(const __grid_constant__ Rotary rotary) {
  const std::int64_t per_token = static_cast<std::int64_t>(rotary.H) * rotary.frequency_count;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rotary.B * rotary.T * per_token) return;
  const std::int64_t token = i / per_token, b = token / rotary.T, t = token % rotary.T;
  const int head = static_cast<int>(i % per_token) / rotary.frequency_count;
  const int frequency = static_cast<int>(i % per_token) % rotary.frequency_count;
  std::int64_t position = t;
  if (rotary.token_positions != nullptr)
    position = rotary.token_positions[t];
  else if (rotary.positions != nullptr)
    position += rotary.positions[b];
  const float2 turn =
      cosine_and_sine(rotary.direction * static_cast<double>(position) * rotary.frequencies[frequency]);
  const std::int64_t element =
      static_cast<std::int64_t>(head) * rotary.D + rotary.first_frequency + frequency;
  const std::int64_t from = b * rotary.x.batch_stride + t * rotary.x.token_stride + element;
  const std::int64_t to = b * rotary.y.batch_stride + t * rotary.y.token_stride + element;
  const int half = rotary.D / 2;
  const float low = load_as_float(rotary.x.data, rotary.x.dtype, from);
  const float high = load_as_float(rotary.x.data, rotary.x.dtype, from + half);
  float turned_low = low * turn.x - high * turn.y, turned_high = high * turn.x + low * turn.y;
  if (rotary.accumulate) {
    turned_low += load_as_float(rotary.y.data, rotary.y.dtype, to);
    turned_high += load_as_float(rotary.y.data, rotary.y.dtype, to + half);
  }
  store_float(rotary.y.data, rotary.y.dtype, to, turned_low);
  store_float(rotary.y.data, rotary.y.dtype, to + half, turned_high);
}

Tokens tokens_of(const Operand& operand) {
  check(operand.strides[2] == 1 || operand.shape()[2] == 1, "elements of a token lie together");
  return {.data = operand.data,
          .dtype = operand.dtype(),
          .batch_stride = operand.strides[0],
          .token_stride = operand.strides[1]};
}

// The largest vector, up to 16 bytes, in which all of it can be moved.
int vector_of(const Rotary& rotary) {
  const std::int64_t size = size_of(rotary.x.dtype);
  std::int64_t vector = 16 / size;
  const auto suits = [&](std::int64_t extent) { return extent % vector == 0; };
  while (vector > 1 &&
         !(suits(rotary.D / 2) && suits(rotary.first_frequency) && suits(rotary.frequency_count) &&
           suits(rotary.x.batch_stride) && suits(rotary.x.token_stride) && suits(rotary.y.batch_stride) &&
           suits(rotary.y.token_stride) && is_aligned(rotary.x.data, vector * size) &&
           is_aligned(rotary.y.data, vector * size)))
    vector /= 2;
  return static_cast<int>(vector);
}

template <class T, int kVector>
void launch_vectors(const KernelCall& call, Rotary& rotary) {
  // Enough work for all threads, and no more tokens than that: the table takes time, too.
  const int per_token = rotary.H * rotary.frequency_count / kVector;
  rotary.tokens = std::clamp(2 * kThreads / per_token, 1, kMostTokens);
  const std::size_t shared = rotary.tokens * rotary.frequency_count * sizeof(float2);
  turn_heads<T, kVector>
      <<<blocks_for(rotary.B * rotary.T, rotary.tokens), kThreads, shared, call.stream>>>(rotary);
}

void launch(const KernelCall& call, Rotary& rotary) {
  if (rotary.x.dtype != rotary.y.dtype || rotary.accumulate) {
    const std::int64_t work = rotary.B * rotary.T * rotary.H * rotary.frequency_count;
    turn_any<<<blocks_for(work, kThreads), kThreads, 0, call.stream>>>(rotary);
  } else {
    with_type(rotary.x.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      switch (vector_of(rotary)) {
        case 1:
          return launch_vectors<T, 1>(call, rotary);
        case 2:
          return launch_vectors<T, 2>(call, rotary);
        case 4:
          return launch_vectors<T, 4>(call, rotary);
        default:
          return launch_vectors<T, 16 / sizeof(T)>(call, rotary);
      }
    });
  }
  check_launch(call);
}

}  // namespace

void rotary_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  Rotary rotary{};
  rotary.x = tokens_of(op.inputs[0]);
  rotary.y = tokens_of(op.outputs[0]);
  rotary.accumulate = op.accumulates(0);
  rotary.B = op.shape(0)[0];
  rotary.T = op.shape(0)[1];
  rotary.H = static_cast<int>(op.attributes().integer("heads"));
  rotary.D = static_cast<int>(op.shape(0)[2]) / rotary.H;
  rotary.positions = op.in<std::int32_t>(1);
  rotary.token_positions = op.in<std::int32_t>(2);
  rotary.direction = op.attributes().boolean("inverse") ? -1 : 1;
  if (op.inputs[0].elements() == 0) return;
  const std::vector<double> frequencies = rotary_frequencies(op.attributes()).values(rotary.D);
  for (int first = 0; first < rotary.D / 2; first += kMostFrequencies) {
    rotary.first_frequency = first;
    rotary.frequency_count = std::min(kMostFrequencies, rotary.D / 2 - first);
    std::copy_n(frequencies.begin() + first, rotary.frequency_count, rotary.frequencies);
    launch(call, rotary);
  }
}

}  // namespace nadi::inline engines::cuda
