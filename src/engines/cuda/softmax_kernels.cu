// Softmax of attention scores [B, H, T, S] and its gradient, and repeating key-value heads: what attention is
// made of when it is not fused. A block has a row; it finds the row in the cache when it looks at it again.
#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/strided_copy.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;

// Rows of any floating-point type.
struct Scores {
  void* data;
  DType dtype;
  bool accumulate;

  __device__ float load(std::int64_t i) const { return load_as_float(data, dtype, i); }
  __device__ void store(std::int64_t i, float x) const {
    store_float(data, dtype, i, accumulate ? x + load(i) : x);
  }
};

struct Softmax {
  Scores x, y;
  const std::int32_t* lengths;  // nullptr means all keys are there
  bool causal;
  std::int64_t H, T, S;
};

__global__ void __launch_bounds__(kThreads) softmax_rows(const Softmax softmax) {
  __shared__ float scratch[kWarp];
  const std::int64_t row = blockIdx.x, b = row / (softmax.H * softmax.T), t = row % softmax.T;
  const std::int64_t S = softmax.S, first = row * S;
  std::int64_t seen = softmax.causal && t + 1 < S ? t + 1 : S;
  if (softmax.lengths != nullptr) {
    const std::int64_t length = softmax.lengths[b] > 0 ? softmax.lengths[b] : 0;
    seen = length < seen ? length : seen;
  }
  float largest = -INFINITY;
  for (std::int64_t s = threadIdx.x; s < seen; s += blockDim.x)
    largest = fmaxf(largest, softmax.x.load(first + s));
  largest = block_max(largest, scratch);
  float sum = 0;
  for (std::int64_t s = threadIdx.x; s < seen; s += blockDim.x)
    sum += expf(softmax.x.load(first + s) - largest);
  sum = block_sum(sum, scratch);
  for (std::int64_t s = threadIdx.x; s < S; s += blockDim.x)
    softmax.y.store(first + s, s < seen ? expf(softmax.x.load(first + s) - largest) / sum : 0.0F);
}

// dx = y (dy - sum of y dy over the row).
struct SoftmaxGrad {
  Scores y, dy, dx;
  std::int64_t S;
};
__global__ void __launch_bounds__(kThreads) softmax_gradient_rows(const SoftmaxGrad softmax) {
  __shared__ float scratch[kWarp];
  const std::int64_t first = blockIdx.x * softmax.S;
  float sum = 0;
  for (std::int64_t s = threadIdx.x; s < softmax.S; s += blockDim.x)
    sum += softmax.y.load(first + s) * softmax.dy.load(first + s);
  sum = block_sum(sum, scratch);
  for (std::int64_t s = threadIdx.x; s < softmax.S; s += blockDim.x)
    softmax.dx.store(first + s, softmax.y.load(first + s) * (softmax.dy.load(first + s) - sum));
}

// Each head of the result is `times` neighbouring heads of x.
struct HeadGroups {
  Scores x, y;
  std::int64_t head, times, elements;
};
__global__ void __launch_bounds__(kThreads) sum_groups(const HeadGroups groups) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= groups.elements) return;
  const std::int64_t first = i / groups.head * groups.times * groups.head + i % groups.head;
  float sum = 0;
  for (std::int64_t member = 0; member < groups.times; ++member)
    sum += groups.x.load(first + member * groups.head);
  groups.y.store(i, sum);
}

Scores input(const OpCall& op, std::size_t i) {
  return {.data = op.inputs[i].data, .dtype = op.dtype(i), .accumulate = false};
}
Scores output(const OpCall& op, std::size_t i) {
  return {.data = op.outputs[i].data, .dtype = op.out_dtype(i), .accumulate = op.accumulates(i)};
}

// Short rows do not need a large block.
int threads_for(std::int64_t S) {
  return S <= kWarp ? kWarp : (S <= 4 * kWarp ? 2 * kWarp : kThreads);
}

}  // namespace

void softmax_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Shape& shape = op.shape(0);
  if (shape.elements() == 0) return;
  softmax_rows<<<blocks_for(op.inputs[0].rows(), 1), threads_for(shape[3]), 0, call.stream>>>(
      {.x = input(op, 0),
       .y = output(op, 0),
       .lengths = op.in<std::int32_t>(1),
       .causal = op.attributes().boolean("causal"),
       .H = shape[1],
       .T = shape[2],
       .S = shape[3]});
  check_launch(call);
}

void softmax_grad_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  if (op.inputs[0].elements() == 0) return;
  const std::int64_t S = op.shape(0)[3];
  softmax_gradient_rows<<<blocks_for(op.inputs[0].rows(), 1), threads_for(S), 0, call.stream>>>(
      {.y = input(op, 0), .dy = input(op, 1), .dx = output(op, 0), .S = S});
  check_launch(call);
}

// A copy of x, seen as [heads, times, elements of a head] with the same memory for all times.
void repeat_heads_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const std::int64_t head = op.shape(0).elements(2, 4), times = op.attributes().integer("times");
  const std::int64_t from[]{head, 0, 1}, to[]{times * head, head, 1};
  strided_copy(call, {.from = op.inputs[0].data,
                      .from_dtype = op.dtype(0),
                      .from_strides = from,
                      .to = op.outputs[0].data,
                      .to_dtype = op.out_dtype(0),
                      .to_strides = to,
                      .shape = Shape{op.shape(0).elements(0, 2), times, head},
                      .accumulate = op.accumulates(0)});
}

void sum_head_groups_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const std::int64_t elements = op.outputs[0].elements();
  if (elements == 0) return;
  sum_groups<<<blocks_for(elements, kThreads), kThreads, 0, call.stream>>>(
      {.x = input(op, 0),
       .y = output(op, 0),
       .head = op.shape(0).elements(2, 4),
       .times = op.attributes().integer("times"),
       .elements = elements});
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
