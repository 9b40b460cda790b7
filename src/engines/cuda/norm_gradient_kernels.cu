// Gradients of layer norm and RMS norm, alone and with what follows on the way back: another gradient of the
// residual stream is added, dropout's mask is applied, and the sum over rows of the result is the gradient of
// a bias. One pass over memory, and a small kernel that adds the blocks' column sums.
//
// With n = (x - mean) * scale and g = dy * weight:
//   dx = (g - mean(g) - n mean(g n)) * scale,   d weight = sum of dy n,   d bias = sum of dy.
// RMS norm has no mean: it counts as 0, and mean(g) is left out.
#include <algorithm>

#include "nadi/cuda/column_sums.cuh"
#include "nadi/cuda/copies_ahead.cuh"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/dropout_mask.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/norm_rows.cuh"
#include "nadi/cuda/shared_memory_limit.h"

namespace nadi::inline engines::cuda {
namespace {

struct NormGradient {
  std::int64_t rows;
  int columns;
  int warps, teams;
  RowOperand x, dy;
  RowOperand weight;
  float reciprocal_width;
  const float* mean;  // nullptr for RMS norm
  const float* scale;
  RowOperand dx;
  // result = dx [+ other] [* dropout's factors]; random == nullptr: no dropout.
  RowOperand other, sum;
  DropoutOp dropout;
  RowOperand dropped;
  // [sums, blocks, columns]: of d weight, d bias (layer norm), and the result over rows where asked for.
  float* partials;
  bool sums_result;
  int rows_ahead;  // that are fetched while one is computed with, where they are in shared memory
};

// Which columns a thread has: vector k of a row.
struct NormColumns {
  int team_threads, thread;
  __device__ int of(int k, int vector) const { return (k * team_threads + thread) * vector; }
};

// What a thread has of a row before it computes anything. Of rows of any type the next one is under way in
// the same registers, vector by vector.
template <class Rows, int kVectors>
struct RawRow {
  typename Rows::Raw x[kVectors], dy[kVectors], other[kVectors];

  __device__ RawRow(const NormGradient&, std::byte*) {}
  __device__ void begin(const NormGradient& norm, std::int64_t row, std::int64_t,
                        const NormColumns& columns) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) load(norm, row, columns, k);
  }
  __device__ void take(const NormGradient&, std::int64_t, std::int64_t, const NormColumns&) {}
  // The row has been computed with.
  __device__ void done_with(const NormGradient& norm, std::int64_t next, const NormColumns& columns, int k) {
    load(norm, next, columns, k);
  }

 private:
  __device__ void load(const NormGradient& norm, std::int64_t row, const NormColumns& columns, int k) {
    const int column = columns.of(k, Rows::kVector);
    if (row >= norm.rows || column >= norm.columns) return;
    const std::int64_t at = row * norm.columns + column;
    x[k] = Rows::load(norm.x, at, norm.columns - column);
    dy[k] = Rows::load(norm.dy, at, norm.columns - column);
    if (norm.other.data != nullptr) other[k] = Rows::load(norm.other, at, norm.columns - column);
  }
};

// Up to two other rows are under way to shared memory. A thread reads what it has fetched itself, so that
// it waits for nobody.
template <class T, int kVectors>
struct RawRow<SameType<T>, kVectors> {
  using Rows = SameType<T>;
  Packed<T> x[kVectors], dy[kVectors], other[kVectors];

  __device__ RawRow(const NormGradient& norm, std::byte* shared)
      : own_(reinterpret_cast<uint4*>(shared) + threadIdx.x), operands_(norm.other.data != nullptr ? 3 : 2) {}
  __device__ void begin(const NormGradient& norm, std::int64_t row, std::int64_t step,
                        const NormColumns& columns) {
    for (int i = 0; i < norm.rows_ahead; ++i) fetch(norm, row + i * step, columns);
  }
  __device__ void take(const NormGradient& norm, std::int64_t row, std::int64_t step,
                       const NormColumns& columns) {
    fetch(norm, row + norm.rows_ahead * step, columns);
    if (norm.rows_ahead == 2)
      wait_for_copies<2>();
    else if (norm.rows_ahead == 1)
      wait_for_copies<1>();
    else
      wait_for_copies<0>();
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      x[k] = load_packed(reinterpret_cast<const T*>(place(taken_, 0, k)));
      dy[k] = load_packed(reinterpret_cast<const T*>(place(taken_, 1, k)));
      if (operands_ == 3) other[k] = load_packed(reinterpret_cast<const T*>(place(taken_, 2, k)));
    }
    taken_ = taken_ == norm.rows_ahead ? 0 : taken_ + 1;
  }
  __device__ void done_with(const NormGradient&, std::int64_t, const NormColumns&, int) {}

 private:
  __device__ uint4* place(int row, int operand, int k) const {
    return own_ + ((row * operands_ + operand) * kVectors + k) * static_cast<int>(blockDim.x);
  }
  __device__ void fetch(const NormGradient& norm, std::int64_t row, const NormColumns& columns) {
    if (row < norm.rows) {
#pragma unroll
      for (int k = 0; k < kVectors; ++k) {
        const int column = columns.of(k, Rows::kVector);
        if (column >= norm.columns) break;
        const std::int64_t at = row * norm.columns + column;
        copy_ahead(place(fetched_, 0, k), static_cast<const T*>(norm.x.data) + at);
        copy_ahead(place(fetched_, 1, k), static_cast<const T*>(norm.dy.data) + at);
        if (operands_ == 3) copy_ahead(place(fetched_, 2, k), static_cast<const T*>(norm.other.data) + at);
      }
    }
    end_of_copies();
    fetched_ = fetched_ == norm.rows_ahead ? 0 : fetched_ + 1;
  }

  uint4* own_;
  int operands_;
  int fetched_ = 0, taken_ = 0;  // places of the rows
};

// Adds one array of sums: those of the block's teams are added in shared memory, and become the block's part.
template <class Rows, int kVectors>
__device__ void leave_sums(const NormGradient& norm, int team, int thread, float* shared, int array,
                           const float (&sums)[kVectors][Rows::kVector]) {
  constexpr int kVector = Rows::kVector;
  const int team_threads = norm.warps * kWarp;
  const int stride = team_threads + 4, team_size = kVectors * kVector * stride;  // NormTeams::team_sums()
  float* part = norm.partials + (static_cast<std::int64_t>(array) * gridDim.x + blockIdx.x) * norm.columns;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      shared[team * team_size + (k * kVector + i) * stride + thread] = sums[k][i];
  __syncthreads();
#pragma unroll 1
  for (int column = static_cast<int>(threadIdx.x); column < norm.columns; column += blockDim.x) {
    const int vector = column / kVector, i = column % kVector;
    const float* from = shared + (vector / team_threads * kVector + i) * stride + vector % team_threads;
    float sum = 0;
#pragma unroll 4
    for (int t = 0; t < norm.teams; ++t) sum += from[t * team_size];
    part[column] = sum;
  }
}

template <class Rows, int kVectors, bool kLayer>
constexpr int kMostThreads = kWarp*(std::is_same_v<Rows, AnyType>
                                        ? NormTeams::kMostWarps
                                        : NormTeams::gradient_warps(kVectors, kLayer));

// Rows that are any type have all that there may be; others are made for layer norm with the sum of the
// result, or RMS norm without.
template <class Rows, int kVectors, bool kLayer, bool kDrops>
__global__ void __launch_bounds__(kMostThreads<Rows, kVectors, kLayer>, 1)
    norm_gradient(const __grid_constant__ NormGradient norm) {
  constexpr int kVector = Rows::kVector;
  constexpr bool kSumsResult = kLayer || std::is_same_v<Rows, AnyType>;
  let_next_begin();  // the sum of the blocks' parts
  extern __shared__ __align__(16) std::byte shared[];
  __shared__ SumScratch scratch;
  const int team_threads = norm.warps * kWarp;
  const int team = norm.teams == 1 ? 0 : static_cast<int>(threadIdx.x) / team_threads;
  const int thread = static_cast<int>(threadIdx.x) - team * team_threads;
  const NormColumns columns{team_threads, thread};
  const auto column_of = [&](int k) { return columns.of(k, kVector); };
  TeamSums<true> team_sums(scratch, norm.warps, team);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * norm.teams;
  float weight_sums[kVectors][kVector] = {}, bias_sums[kVectors][kVector] = {};
  float result_sums[kVectors][kVector] = {};

  typename Rows::Raw weight[kVectors];
  RawRow<Rows, kVectors> raw(norm, shared);
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * norm.teams + team;
  raw.begin(norm, row, step, columns);
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
    if (column_of(k) < norm.columns)
      weight[k] = Rows::load(norm.weight, column_of(k), norm.columns - column_of(k));
  float next_mean = 0, next_scale = 0;
  const auto load_statistics = [&](std::int64_t of_row) {
    if (of_row >= norm.rows) return;
    if (kLayer) next_mean = norm.mean[of_row];
    next_scale = norm.scale[of_row];
  };
  load_statistics(row);
  for (; row < norm.rows; row += step) {
    const float mean = next_mean, scale = next_scale;
    raw.take(norm, row, step, columns);
    float2 sums{0, 0};  // of g and of g n
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (column_of(k) >= norm.columns) break;
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float n = (raw.x[k].at(i) - mean) * scale, dy = raw.dy[k].at(i);
        const float g = dy * weight[k].at(i);
        if (kLayer) sums.x += g;
        sums.y += g * n;
        weight_sums[k][i] += dy * n;
        if (kLayer) bias_sums[k][i] += dy;
      }
    }
    load_statistics(row + step);
    sums = team_sums(sums);
    // dx = g * scale + shift + n * slope
    const float shift = kLayer ? -sums.x * norm.reciprocal_width * scale : 0.0F;
    const float slope = -sums.y * norm.reciprocal_width * scale;

#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const int column = column_of(k), left = norm.columns - column;
      if (left <= 0) break;
      const std::int64_t at = row * norm.columns + column;
      float dx[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float n = (raw.x[k].at(i) - mean) * scale;
        dx[i] = raw.dy[k].at(i) * weight[k].at(i) * scale + (shift + n * slope);
      }
      if (norm.dx.data != nullptr) Rows::store(norm.dx, at, left, dx);
      Rows::round(norm.dx, dx);
      if (norm.other.data != nullptr) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) dx[i] += raw.other[k].at(i);
        if (norm.sum.data != nullptr) Rows::store(norm.sum, at, left, dx);
        Rows::round(norm.sum, dx);
      }
      raw.done_with(norm, row + step, columns, k);
      if (kDrops && norm.dropout.mask.random != nullptr) {
        float factors[kVector];
        const std::int64_t number =
            norm.dropout.rows.rows == nullptr ? at : norm.dropout.rows.number_of_row(row) + column;
        DropoutKey(norm.dropout.mask).factors<kVector>(number, factors);
#pragma unroll
        for (int i = 0; i < kVector; ++i) dx[i] *= factors[i];
        if (norm.dropped.data != nullptr) Rows::store(norm.dropped, at, left, dx);
        Rows::round(norm.dropped, dx);
      }
      if (kSumsResult && norm.sums_result)
#pragma unroll
        for (int i = 0; i < kVector; ++i) result_sums[k][i] += dx[i];
    }
  }

  leave_sums<Rows>(norm, team, thread, reinterpret_cast<float*>(shared), 0, weight_sums);
  if (kLayer) leave_sums<Rows>(norm, team, thread, reinterpret_cast<float*>(shared), 1, bias_sums);
  if (kSumsResult && norm.sums_result)
    leave_sums<Rows>(norm, team, thread, reinterpret_cast<float*>(shared), kLayer ? 2 : 1, result_sums);
}

void launch_gradient(const KernelCall& call, NormGradient& norm, PartialSums& sums) {
  const bool layer = norm.mean != nullptr, drops = norm.dropout.mask.random != nullptr;
  sums.part_count = NormTeams::parts(norm.rows, call.device.traits());
  const auto launch = [&](auto kernel, const NormTeams& teams, int vector, bool in_shared) {
    norm.warps = teams.warps;
    norm.teams = teams.teams;
    std::int64_t shared = teams.teams * teams.team_sums(vector) * std::int64_t{sizeof(float)};
    if (in_shared) {
      const int operands = norm.other.data != nullptr ? 3 : 2;
      norm.rows_ahead = teams.rows_ahead(operands, call.device.traits());
      shared = std::max(shared, teams.row_bytes(operands) * (norm.rows_ahead + 1));
    }
    allow_shared_memory(kernel, static_cast<std::size_t>(shared));
    kernel<<<static_cast<unsigned>(sums.part_count), teams.threads(), static_cast<std::size_t>(shared),
             call.stream>>>(norm);
  };
  const DType dtype = norm.x.dtype;
  const auto vector = static_cast<int>(16 / size_of(dtype));
  const NormTeams teams = NormTeams::of_gradient(norm.columns, vector, layer);
  const NormTeams any = NormTeams::of_any(norm.columns);
  // Models with RMS norm have no dropout behind it, and no biases whose gradients would be summed here.
  if (teams.vectors > 0 && (layer || !(norm.sums_result || drops)) &&
      same_type_rows(dtype, norm.columns,
                     {norm.x, norm.dy, norm.dx, norm.other, norm.sum, norm.dropped, norm.weight}))
    with_rows<1, 2, 3>(teams, dtype, [&](auto rows, auto vectors) {
      using Rows = decltype(rows);
      if (!layer)
        launch(norm_gradient<Rows, vectors(), false, false>, teams, vector, true);
      else if (drops)
        launch(norm_gradient<Rows, vectors(), true, true>, teams, vector, true);
      else
        launch(norm_gradient<Rows, vectors(), true, false>, teams, vector, true);
    });
  else
    with_any_rows(any, [&](auto rows, auto vectors) {
      using Rows = decltype(rows);
      if (layer)
        launch(norm_gradient<Rows, vectors(), true, true>, any, Rows::kVector, false);
      else
        launch(norm_gradient<Rows, vectors(), false, true>, any, Rows::kVector, false);
    });
  check_launch(call);
  finish_column_sums(call, sums);
  check_launch(call);
}

// Does the first op of the call, the gradient of a norm, with those that follow it.
void norm_gradient_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const bool layer = op.op.op.kind == OpKind::kLayerNormGrad;
  NormGradient norm{};
  norm.rows = op.inputs[0].rows();
  norm.columns = static_cast<int>(op.inputs[0].columns());
  if (norm.columns == 0) return;
  norm.x = row_operand(op.inputs[0]);
  norm.weight = row_operand(op.inputs[1]);
  norm.mean = layer ? op.in<float>(2) : nullptr;
  norm.scale = op.in<float>(layer ? 3 : 2);
  norm.dy = row_operand(op.inputs[layer ? 4 : 3]);
  norm.dx = row_output(op, 0);
  norm.reciprocal_width = 1.0F / static_cast<float>(norm.columns);
  norm.partials = reinterpret_cast<float*>(call.workspace.data());
  PartialSums sums{
      .parts = norm.partials, .columns = norm.columns, .targets = {sum_target(op, 1)}, .count = 1};
  if (layer) sums.targets[sums.count++] = sum_target(op, 2);
  for (const OpCall& next : call.ops.subspan(1)) {
    switch (next.op.op.kind) {
      case OpKind::kAdd: {
        const bool first = next.inputs[0].tensor == op.outputs[0].tensor;
        norm.other = row_operand(next.inputs[first ? 1 : 0]);
        norm.sum = row_output(next, 0);
        check(next.inputs[0].elements() == next.inputs[1].elements(),
              "gradients that are added have the same shape");
        break;
      }
      case OpKind::kDropout:
        norm.dropout = dropout_op(next);
        norm.dropped = row_output(next, 0);
        check(norm.dropout.rows.rows == nullptr || norm.dropout.rows.width == norm.columns,
              "a fused dropout numbers elements of a row apart");
        break;
      case OpKind::kSumRows:
        check(next.outputs[0].elements() == norm.columns, "a fused sum over rows keeps a norm's columns");
        norm.sums_result = true;
        sums.targets[sums.count++] = sum_target(next, 0);
        break;
      default:
        check(false, "an op that the gradient of a norm is not fused with");
    }
  }
  launch_gradient(call, norm, sums);
}

}  // namespace

void layer_norm_grad_kernel(const KernelCall& call) {
  norm_gradient_kernel(call);
}

void rms_norm_grad_kernel(const KernelCall& call) {
  norm_gradient_kernel(call);
}

void norm_grad_sum_kernel(const KernelCall& call) {
  norm_gradient_kernel(call);
}

}  // namespace nadi::inline engines::cuda
