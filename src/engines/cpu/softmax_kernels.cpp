// Softmax of attention scores [B, H, T, S] and its gradient, and repeating key-value heads: what attention is
// made of when it is not fused. Rows are shared out to threads; within a row everything is in one thread.
#include <algorithm>
#include <cstring>

#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/kernel.h"
#include "nadi/cpu/softmax_row.h"
#include "nadi/engine/element.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {
namespace {

constexpr std::int64_t kExpCost = 4;  // elements of a plain loop that one of these takes as long as

void store(const Target& target, std::int64_t first, std::int64_t count, const float* row) {
  walk_blocks(0, count,
              [&](std::int64_t done, std::int64_t block) { target.put(first + done, block, row + done); });
}

// Two rows of S per thread.
std::int64_t rows_workspace(const OpView& op, int threads) {
  return threads * 2 * op.in(0)[3] * static_cast<std::int64_t>(sizeof(float));
}

// body(row, first, second) for every row of the op, with the thread's two rows.
template <class Body>
void for_each_row(const KernelCall& call, const Body& body) {
  const std::int64_t S = call.shape(0)[3], rows = call.inputs[0].elements() / S;
  parallel_for(rows, worthwhile_threads(kExpCost * rows * S, call.threads),
               [&](std::int64_t first, std::int64_t end, int thread) {
                 float* buffers = call.workspace_of<float>(thread, 2 * S);
                 for (std::int64_t row = first; row < end; ++row) body(row, buffers, buffers + S);
               });
}

std::int64_t softmax_workspace(const OpView& op, int threads) {
  return rows_workspace(op, threads);
}

void softmax_kernel(const KernelCall& call) {
  const std::int64_t H = call.shape(0)[1], T = call.shape(0)[2], S = call.shape(0)[3];
  const Target target(call, 0);
  const bool causal = call.attributes().boolean("causal");
  for_each_row(call, [&](std::int64_t row, float* y, float*) {
    const std::int64_t b = row / (H * T), t = row % T;
    std::int64_t seen = causal ? std::min(S, t + 1) : S;
    if (call.has(1)) seen = std::clamp<std::int64_t>(call.in<std::int32_t>(1)[b], 0, seen);
    convert_to_float(element(call.inputs[0].data, call.dtype(0), row * S), call.dtype(0), seen, y);
    if (seen > 0) multiply_row(y, seen, 1 / exponentials(y, seen, largest_of(y, seen)));
    std::fill(y + seen, y + S, 0.0F);
    store(target, row * S, S, y);
  });
}

std::int64_t softmax_grad_workspace(const OpView& op, int threads) {
  return rows_workspace(op, threads);
}

// dx = y (dy - sum of y dy over the row).
void softmax_grad_kernel(const KernelCall& call) {
  const std::int64_t S = call.shape(0)[3];
  const Target target(call, 0);
  for_each_row(call, [&](std::int64_t row, float* buffer, float* dx) {
    const float* y = Source(call.inputs[0]).load(row * S, S, buffer);
    convert_to_float(element(call.inputs[1].data, call.dtype(1), row * S), call.dtype(1), S, dx);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t s = 0; s < S; ++s) sum += y[s] * dx[s];
#pragma omp simd
    for (std::int64_t s = 0; s < S; ++s) dx[s] = y[s] * (dx[s] - sum);
    store(target, row * S, S, dx);
  });
}

void repeat_heads_kernel(const KernelCall& call) {
  const std::int64_t times = call.attributes().integer("times");
  const std::int64_t head = call.shape(0).elements(2, 4);
  const std::int64_t bytes = head * size_of(call.dtype(0));
  const std::int64_t all = call.outputs[0].elements();
  parallel_for(all / head, worthwhile_threads(all, call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t i = first; i < end; ++i)
                   std::memcpy(call.outputs[0].data + i * bytes, call.inputs[0].data + i / times * bytes,
                               static_cast<std::size_t>(bytes));
               });
}

// Each head of the result is `times` neighbouring heads of x; blocks of it are summed in fp32.
void sum_head_groups_kernel(const KernelCall& call) {
  const std::int64_t times = call.attributes().integer("times");
  const std::int64_t head = call.shape(0).elements(2, 4);
  const std::int64_t blocks = divided_up(head, kBlock);
  const Source x(call.inputs[0]);
  const Target target(call, 0);
  parallel_for(call.outputs[0].elements() / head * blocks,
               worthwhile_threads(call.inputs[0].elements(), call.threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 Block sum, buffer;
                 for (std::int64_t i = first; i < end; ++i) {
                   const std::int64_t to = i / blocks, offset = i % blocks * kBlock;
                   const std::int64_t count = std::min(kBlock, head - offset);
                   std::fill_n(sum, count, 0.0F);
                   for (std::int64_t member = to * times; member < (to + 1) * times; ++member) {
                     const float* part = x.load(member * head + offset, count, buffer);
                     for (std::int64_t j = 0; j < count; ++j) sum[j] += part[j];
                   }
                   target.put(to * head + offset, count, sum);
                 }
               });
}

}  // namespace

const KernelEntry softmax_entry{softmax_kernel, softmax_workspace};
const KernelEntry softmax_grad_entry{softmax_grad_kernel, softmax_grad_workspace};
const KernelEntry repeat_heads_entry{repeat_heads_kernel};
const KernelEntry sum_head_groups_entry{sum_head_groups_kernel};

}  // namespace nadi::inline engines::cpu
