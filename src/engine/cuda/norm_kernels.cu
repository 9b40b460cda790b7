// Layer norm and RMS norm over the last axis, alone and after the addition that makes their input: the
// residual stream is read, dropped out, added to and normed in one pass over memory. Gradients are in
// norm_gradient_kernels.cu.
//
// The mean comes first and squares are taken around it: no difference of large squares is ever taken.
#include <initializer_list>
#include <type_traits>

#include "nadi/engine/cuda/dropout_mask.cuh"
#include "nadi/engine/cuda/kernels.h"
#include "nadi/engine/cuda/norm_rows.cuh"

namespace nadi::cuda {
namespace {

struct NormForward {
  std::int64_t rows;
  int columns;
  int warps, teams;
  RowOperand a;  // what is normed, or one summand of it
  RowOperand b;  // the other
  RowOperand sum;
  // Dropout of one of the summands, before they are added; random == nullptr: none.
  DropoutOp dropout;
  bool drops_a;
  RowOperand dropped;
  ColumnOperand weight, bias;
  float epsilon;
  RowOperand y;
  float* mean;  // nullptr for RMS norm
  float* scale;
};

// values = round(values * factors), and stored where the dropped values have memory.
template <class Rows, int kVectors>
__device__ void drop(const NormForward& norm, const RowOperand& operand, std::int64_t row, int thread,
                     float (&values)[kVectors][Rows::kVector]) {
  const DropoutKey key(norm.dropout.mask);
  const std::int64_t number = norm.dropout.rows.rows == nullptr
                                  ? operand.row(row) * norm.columns
                                  : norm.dropout.rows.number_of(operand.row(row) * norm.columns);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int column = (k * norm.warps * kWarp + thread) * Rows::kVector;
    if (column >= norm.columns) break;
    float factors[Rows::kVector];
    key.factors<Rows::kVector>(number + column, factors);
#pragma unroll
    for (int i = 0; i < Rows::kVector; ++i)
      values[k][i] = Rows::rounded(norm.dropped, values[k][i] * factors[i]);
    if (norm.dropped.data != nullptr) Rows::store(norm.dropped, row, norm.columns, column, values[k]);
  }
}

template <class Rows, int kVectors>
__device__ void load_row(const RowOperand& operand, const NormForward& norm, std::int64_t row, int thread,
                         float (&values)[kVectors][Rows::kVector]) {
  typename Rows::Raw raw[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int column = (k * norm.warps * kWarp + thread) * Rows::kVector;
    if (column < norm.columns) raw[k] = Rows::load(operand, row, norm.columns, column);
  }
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const bool there = (k * norm.warps * kWarp + thread) * Rows::kVector < norm.columns;
#pragma unroll
    for (int i = 0; i < Rows::kVector; ++i) values[k][i] = there ? raw[k].at(i) : 0.0F;
  }
}

template <class Rows, int kVectors, bool kLayer>
__global__ void __launch_bounds__(NormTeams::kMostWarps* kWarp)
    norm_rows(const __grid_constant__ NormForward norm) {
  constexpr int kVector = Rows::kVector;
  __shared__ float scratch[kWarp];
  const int team_threads = norm.warps * kWarp;
  const int team = norm.teams == 1 ? 0 : static_cast<int>(threadIdx.x) / team_threads;
  const int thread = static_cast<int>(threadIdx.x) - team * team_threads;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * norm.teams + team;
  if (row >= norm.rows) return;  // a whole team
  const auto column_of = [&](int k) { return (k * team_threads + thread) * kVector; };

  float x[kVectors][kVector];
  load_row<Rows>(norm.a, norm, row, thread, x);
  if (norm.b.data != nullptr) {
    float other[kVectors][kVector];
    load_row<Rows>(norm.b, norm, row, thread, other);
    if (norm.dropout.mask.random != nullptr) {
      if (norm.drops_a)
        drop<Rows>(norm, norm.a, row, thread, x);
      else
        drop<Rows>(norm, norm.b, row, thread, other);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (column_of(k) >= norm.columns) break;
#pragma unroll
      for (int i = 0; i < kVector; ++i) x[k][i] = Rows::rounded(norm.sum, x[k][i] + other[k][i]);
      if (norm.sum.data != nullptr) Rows::store(norm.sum, row, norm.columns, column_of(k), x[k]);
    }
  }

  const float width = static_cast<float>(norm.columns);
  float mean = 0;
  if (kLayer) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += x[k][i];  // 0 beyond the last column
    mean = team_sum(sum, norm.warps, scratch) / width;
  }
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      if (column_of(k) + i < norm.columns) squares += (x[k][i] - mean) * (x[k][i] - mean);
  const float scale = 1.0F / sqrtf(team_sum(squares, norm.warps, scratch) / width + norm.epsilon);

#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    if (column_of(k) >= norm.columns) break;
    float weight[kVector], bias[kVector] = {};
    load_columns(norm.weight, norm.columns, column_of(k), weight);
    if (kLayer) load_columns(norm.bias, norm.columns, column_of(k), bias);
#pragma unroll
    for (int i = 0; i < kVector; ++i) x[k][i] = (x[k][i] - mean) * scale * weight[i] + bias[i];
    Rows::store(norm.y, row, norm.columns, column_of(k), x[k]);
  }
  if (thread == 0) {
    if (kLayer) norm.mean[row] = mean;
    norm.scale[row] = scale;
  }
}

template <class Rows, int kVectors>
void launch_rows(const KernelCall& call, const NormForward& norm) {
  const unsigned blocks = blocks_for(norm.rows, norm.teams);
  const int threads = norm.warps * norm.teams * kWarp;
  if (norm.mean != nullptr)
    norm_rows<Rows, kVectors, true><<<blocks, threads, 0, call.stream>>>(norm);
  else
    norm_rows<Rows, kVectors, false><<<blocks, threads, 0, call.stream>>>(norm);
}

template <class Rows>
void launch_kind(const KernelCall& call, NormForward& norm) {
  const NormTeams teams = NormTeams::of(norm.columns, Rows::kVector, false);
  norm.warps = teams.warps;
  norm.teams = teams.teams;
  with_vectors<Rows>(teams.vectors, [&](auto, auto vectors) { launch_rows<Rows, vectors()>(call, norm); });
}

void launch_norm(const KernelCall& call, NormForward& norm) {
  if (norm.rows == 0 || norm.columns == 0) return;
  const DType dtype = norm.y.dtype;
  if (is_floating(dtype) &&
      same_type_rows(dtype, norm.columns, {norm.a, norm.b, norm.sum, norm.dropped, norm.y}))
    with_type(dtype, [&](auto tag) { launch_kind<SameType<typename decltype(tag)::type>>(call, norm); });
  else
    launch_kind<AnyType>(call, norm);
  check_launch(call);
}

// Everything but what is normed.
NormForward norm_of(const OpCall& op) {
  const bool layer = op.op.op.kind == OpKind::kLayerNorm;
  NormForward norm{};
  norm.rows = op.inputs[0].rows();
  norm.columns = static_cast<int>(op.inputs[0].columns());
  norm.weight = column_operand(op.inputs[1]);
  if (layer) norm.bias = column_operand(op.inputs[2]);
  norm.epsilon = static_cast<float>(op.attributes().real("epsilon"));
  norm.y = row_output(op, 0);
  norm.mean = layer ? op.out<float>(1) : nullptr;
  norm.scale = op.out<float>(layer ? 2 : 1);
  return norm;
}

void norm_kernel(const KernelCall& call) {
  NormForward norm = norm_of(call.op());
  norm.a = row_operand(call.op().inputs[0]);
  launch_norm(call, norm);
}

}  // namespace

void layer_norm_kernel(const KernelCall& call) {
  norm_kernel(call);
}

void rms_norm_kernel(const KernelCall& call) {
  norm_kernel(call);
}

// [dropout] add norm. What an op hands to the next is known by the tensor: it need not have memory.
void residual_norm_kernel(const KernelCall& call) {
  const OpCall& add = call.ops[call.ops.size() - 2];
  NormForward norm = norm_of(call.ops.back());
  norm.a = row_operand(add.inputs[0]);
  norm.b = row_operand(add.inputs[1]);
  if (add.inputs[1].elements() != add.inputs[0].elements()) {
    check(add.inputs[1].elements() % norm.columns == 0, "a summand of a fused norm is not made up of rows");
    norm.b.period = add.inputs[1].elements() / norm.columns;
  }
  norm.sum = row_output(add, 0);
  if (call.ops.size() == 3) {
    const OpCall& dropout = call.ops[0];
    norm.dropout = dropout_op(dropout);
    norm.drops_a = add.inputs[0].tensor == dropout.outputs[0].tensor;
    norm.dropped = row_output(dropout, 0);
    norm.dropped.period = norm.drops_a ? norm.a.period : norm.b.period;
    RowOperand& summand = norm.drops_a ? norm.a : norm.b;
    summand.data = dropout.inputs[0].data;
    summand.dtype = dropout.dtype(0);
  }
  launch_norm(call, norm);
}

}  // namespace nadi::cuda
