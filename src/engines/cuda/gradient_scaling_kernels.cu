// What stands between backward pass and optimizer: the norm of all gradients, and the scalars that are made
// of it. Scalars stay on the device, each made by one thread.
#include <algorithm>
#include <array>
#include <vector>

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/optimizer_workspace.h"
#include "nadi/cuda/schedules.cuh"
#include "nadi/graph/ops/gradient_scaling.h"
#include "nadi/graph/ops/next_update.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;

// Where a scalar goes.
struct ScalarOutput {
  float* data;
  bool accumulate;

  __device__ void put(float value) const { *data = accumulate ? *data + value : value; }
};
ScalarOutput scalar_output(const OpCall& op, std::size_t i) {
  return {op.out<float>(i), op.accumulates(i)};
}

// --- Sums of squares
//
// Tensors that lie one after the other in memory are one segment, and a segment is cut into chunks. Chunks go
// round the blocks; each block has one sum, in double precision, and the sums are added in order.

constexpr std::int64_t kChunk = 4096;  // elements

struct Segment {
  const std::byte* data;
  std::int64_t elements;
  std::int64_t first_chunk;  // counted over all segments of a launch
  DType dtype;
};
struct Segments {
  Segment list[kSegmentsPerLaunch];
  int count = 0;
  std::int64_t chunks = 0;
};
static_assert(sizeof(Segments) < 4000);  // it is a parameter of a kernel

template <class T>
__device__ double squares_of(const T* data, std::int64_t count) {
  constexpr int kVector = 16 / sizeof(T);
  const auto offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 16 / sizeof(T));
  const std::int64_t before = offset == 0 ? 0 : kVector - offset;
  const std::int64_t head = before < count ? before : count;
  const std::int64_t vectors = (count - head) / kVector;
  constexpr int kInFlight = 4;
  double sums[4] = {};
  for (std::int64_t v = threadIdx.x; v < vectors; v += kInFlight * kThreads) {
    Vector<T, kVector> values[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::int64_t own = v + j * kThreads;
      values[j] = own < vectors ? load_vector<T, kVector>(data + head + own * kVector) : Vector<T, kVector>{};
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j)
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const double x = values[j].at(k);
        sums[k % 4] += x * x;
      }
  }
  const std::int64_t rest = count - vectors * kVector;
  for (std::int64_t i = threadIdx.x; i < rest; i += kThreads) {
    const double x = to_float(data[i < head ? i : i + vectors * kVector]);
    sums[0] += x * x;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The result in thread 0.
__device__ double sum_of_block(double x) {
  __shared__ double of_warps[kThreads / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(kWholeWarp, x, offset);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = x;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < kThreads / kWarp; ++warp) sum += of_warps[warp];
  return sum;
}

__global__ void __launch_bounds__(kThreads, 4)
    sum_squares(const __grid_constant__ Segments segments, double* sums) {
  double sum = 0;
  int s = 0;
  for (std::int64_t chunk = blockIdx.x; chunk < segments.chunks; chunk += gridDim.x) {
    while (s + 1 < segments.count && chunk >= segments.list[s + 1].first_chunk) ++s;
    const Segment& segment = segments.list[s];
    const std::int64_t first = (chunk - segment.first_chunk) * kChunk;
    const std::int64_t count = min(kChunk, segment.elements - first);
    if (segment.dtype == DType::kF32)
      sum += squares_of(reinterpret_cast<const float*>(segment.data) + first, count);
    else if (segment.dtype == DType::kBF16)
      sum += squares_of(reinterpret_cast<const __nv_bfloat16*>(segment.data) + first, count);
    else
      sum += squares_of(reinterpret_cast<const __half*>(segment.data) + first, count);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    add_sums(const double* sums, int count, double factor, ScalarOutput result) {
  double sum = 0;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += sums[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) result.put(static_cast<float>(sum * factor));
}

std::vector<Segment> segments_of(std::span<const Operand> operands) {
  std::vector<Segment> segments;
  const std::byte* end = nullptr;  // of the last one
  for (const Operand& operand : operands) {
    if (operand.elements() == 0) continue;
    if (!segments.empty() && operand.data == end && operand.dtype() == segments.back().dtype)
      segments.back().elements += operand.elements();
    else
      segments.push_back({operand.data, operand.elements(), 0, operand.dtype()});
    end = operand.data + operand.elements() * size_of(operand.dtype());
  }
  return segments;
}

// --- Scalars

constexpr float kSmallNorm = 1e-6F;  // as graph/ops/gradient_scaling.h has it

__global__ void make_grad_scale(const float* squared, const float* loss_scale_input, float max_norm,
                                std::array<ScalarOutput, 3> results) {
  const float squared_norm = *squared;
  const float loss_scale = loss_scale_input == nullptr ? 1.0F : *loss_scale_input;
  const float norm = sqrtf(squared_norm) / loss_scale;
  const float wanted = max_norm / (norm + kSmallNorm);
  const float clip = max_norm > 0 && wanted < 1.0F ? wanted : 1.0F;
  results[0].put(norm);
  results[1].put(clip / loss_scale);
  results[2].put(isfinite(squared_norm) ? 0.0F : 1.0F);
}

__global__ void move_loss_scale(const float* found_inf, const float* loss_scale, const float* good_steps,
                                float interval, float* new_loss_scale, float* new_good_steps) {
  float scale = *loss_scale, good = *good_steps + 1;
  if (*found_inf != 0) {
    scale = fmaxf(1.0F, scale / 2);
    good = 0;
  } else if (good >= interval) {
    scale *= 2;
    good = 0;
  }
  *new_loss_scale = scale;
  *new_good_steps = good;
}

struct NextUpdateOperands {
  Integers updates, position, skipped_updates, advance;
  const float* found_inf;
  float* learning_rate;
  float* decay_factor;
  Integers update_number, updates_after, position_after, skipped_updates_after;
};

// The variables may be inputs and outputs at once: everything is read before anything is written.
__global__ void make_next_update(NextUpdateOperands o, Schedules schedules) {
  const bool skipped = o.found_inf != nullptr && *o.found_inf != 0;
  const std::int64_t updates = o.updates[0], position = o.position[0], advance = o.advance[0];
  const std::int64_t skipped_updates = o.skipped_updates[0];
  *o.learning_rate = static_cast<float>(schedules.learning_rate(static_cast<double>(position)));
  *o.decay_factor = static_cast<float>(schedules.decay_factor(static_cast<double>(position)));
  o.update_number.set(0, updates + 1);
  o.updates_after.set(0, updates + (skipped ? 0 : 1));
  o.position_after.set(0, position + (skipped ? 0 : advance));
  o.skipped_updates_after.set(0, skipped_updates + (skipped ? 1 : 0));
}

}  // namespace

void squared_norm_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  auto* sums = reinterpret_cast<double*>(call.workspace.data());
  const int most_blocks = squared_norm_blocks(call.device.traits());
  const std::vector<Segment> all = segments_of(op.inputs);
  int blocks = 0;
  for (std::size_t first = 0; first < all.size(); first += kSegmentsPerLaunch) {
    Segments part;
    for (std::size_t i = first; i < std::min(first + kSegmentsPerLaunch, all.size()); ++i) {
      Segment& segment = part.list[part.count++] = all[i];
      segment.first_chunk = part.chunks;
      part.chunks += blocks_for(segment.elements, kChunk);
    }
    const auto own = static_cast<int>(std::min<std::int64_t>(part.chunks, most_blocks));
    sum_squares<<<static_cast<unsigned>(own), kThreads, 0, call.stream>>>(part, sums + blocks);
    blocks += own;
  }
  add_sums<<<1, kThreads, 0, call.stream>>>(sums, blocks, op.attributes().real("factor"),
                                            scalar_output(op, 0));
  check_launch(call);
}

void grad_scale_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  make_grad_scale<<<1, 1, 0, call.stream>>>(
      op.in<float>(0), op.in<float>(1), static_cast<float>(op.attributes().real("max_norm")),
      {scalar_output(op, 0), scalar_output(op, 1), scalar_output(op, 2)});
  check_launch(call);
}

void update_loss_scale_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  move_loss_scale<<<1, 1, 0, call.stream>>>(op.in<float>(0), op.in<float>(1), op.in<float>(2),
                                            static_cast<float>(op.attributes().integer("growth_interval")),
                                            op.out<float>(0), op.out<float>(1));
  check_launch(call);
}

void next_update_kernel(const KernelCall& call) {
  using namespace next_update_io;
  const OpCall& op = call.op();
  const UpdateSchedules schedules(op.attributes());
  make_next_update<<<1, 1, 0, call.stream>>>(
      {.updates = integers_of(op, kUpdates),
       .position = integers_of(op, kSchedulePosition),
       .skipped_updates = integers_of(op, kSkippedUpdates),
       .advance = integers_of(op, kScheduleAdvance),
       .found_inf = op.in<float>(kFoundInf),
       .learning_rate = op.out<float>(kLearningRate),
       .decay_factor = op.out<float>(kDecayFactor),
       .update_number = integers_of(op.outputs[kUpdateNumber]),
       .updates_after = integers_of(op.outputs[kUpdatesAfter]),
       .position_after = integers_of(op.outputs[kSchedulePositionAfter]),
       .skipped_updates_after = integers_of(op.outputs[kSkippedUpdatesAfter])},
      {schedules.rate(), schedules.decay(), schedules.full_weight_decay()});
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
