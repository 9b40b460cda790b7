// Layer norm and RMS norm over the last axis, alone and after the addition that makes their input: the
// residual stream is read, dropped out, added to and normed in one pass over memory. Gradients are in
// norm_gradient_kernels.cu.
//
// The mean comes first and squares are taken around it: no difference of large squares is ever taken.
#include "nadi/cuda/dropout_mask.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/norm_rows.cuh"

namespace nadi::inline engines::cuda {
namespace {

struct NormForward {
  std::int64_t rows;
  int columns;
  int warps, teams;
  RowOperand a;  // what is normed, or one summand of it
  RowOperand b;  // the other, which begins anew after so many rows
  std::int64_t b_rows;
  RowOperand sum;
  // Dropout of one of the summands, before they are added; random == nullptr: none.
  DropoutOp dropout;
  bool drops_a;
  RowOperand dropped;
  RowOperand weight, bias;
  float epsilon, reciprocal_width;
  RowOperand y;
  float* mean;  // nullptr for RMS norm
  float* scale;
};

// values = round(values * factors), and stored where the dropped values have memory.
template <class Rows, int kVectors>
__device__ void drop(const NormForward& norm, std::int64_t row, int thread,
                     float (&values)[kVectors][Rows::kVector]) {
  const DropoutKey key(norm.dropout.mask);
  const std::int64_t number =
      norm.dropout.rows.rows == nullptr ? row * norm.columns : norm.dropout.rows.number_of_row(row);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int column = (k * norm.warps * kWarp + thread) * Rows::kVector;
    if (column >= norm.columns) break;
    float factors[Rows::kVector];
    key.factors<Rows::kVector>(number + column, factors);
#pragma unroll
    for (int i = 0; i < Rows::kVector; ++i) values[k][i] *= factors[i];
    if (norm.dropped.data != nullptr)
      Rows::store(norm.dropped, row * norm.columns + column, norm.columns - column, values[k]);
    Rows::round(norm.dropped, values[k]);
  }
}

template <class Rows, int kVectors>
struct RawVectors {
  typename Rows::Raw vectors[kVectors];

  __device__ void load(const RowOperand& operand, const NormForward& norm, std::int64_t row, int thread) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const int column = (k * norm.warps * kWarp + thread) * Rows::kVector;
      if (column < norm.columns)
        vectors[k] = Rows::load(operand, row * norm.columns + column, norm.columns - column);
      else
        vectors[k] = {};
    }
  }
  __device__ void get(float (&values)[kVectors][Rows::kVector]) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < Rows::kVector; ++i) values[k][i] = vectors[k].at(i);
  }
};

// Where a warp has a row alone, blocks are of four; so many of them are to have their place on a
// multiprocessor that loads of some are under way while others compute.
template <class Rows, int kVectors>
constexpr bool kWarpRows = kVectors != 4 && !std::is_same_v<Rows, AnyType>;
template <class Rows, int kVectors>
constexpr int kThreads = kWarp*(kWarpRows<Rows, kVectors> ? 4 : NormTeams::kMostWarps);
template <class Rows, int kVectors, bool kDrops>
constexpr int kBlocks =
    !kWarpRows<Rows, kVectors> ? 1 : (kVectors == 8 ? (kDrops ? 2 : 4) : (kDrops ? 5 : 7));

template <class Rows, int kVectors, bool kDrops>
__global__ void __launch_bounds__(kThreads<Rows, kVectors>, kBlocks<Rows, kVectors, kDrops>)
    norm_rows(const __grid_constant__ NormForward norm) {
  constexpr int kVector = Rows::kVector;
  __shared__ SumScratch scratch;
  const bool layer = norm.mean != nullptr;
  const int team_threads = norm.warps * kWarp;
  const int team = norm.teams == 1 ? 0 : static_cast<int>(threadIdx.x) / team_threads;
  const int thread = static_cast<int>(threadIdx.x) - team * team_threads;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * norm.teams + team;
  if (row >= norm.rows) return;  // a whole team
  const auto column_of = [&](int k) { return (k * team_threads + thread) * kVector; };
  const auto place_of = [&](int k) { return row * norm.columns + column_of(k); };

  float x[kVectors][kVector];
  RawVectors<Rows, kVectors> a, b;
  a.load(norm.a, norm, row, thread);
  if (norm.b.data != nullptr) {
    const std::int64_t b_row =
        row < norm.b_rows ? row : static_cast<std::uint32_t>(row) % static_cast<std::uint32_t>(norm.b_rows);
    b.load(norm.b, norm, b_row, thread);
    a.get(x);
    float other[kVectors][kVector];
    b.get(other);
    if (kDrops && norm.dropout.mask.random != nullptr) {
      if (norm.drops_a)
        drop<Rows>(norm, row, thread, x);
      else
        drop<Rows>(norm, b_row, thread, other);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (column_of(k) >= norm.columns) break;
#pragma unroll
      for (int i = 0; i < kVector; ++i) x[k][i] += other[k][i];
      if (norm.sum.data != nullptr) Rows::store(norm.sum, place_of(k), norm.columns - column_of(k), x[k]);
      Rows::round(norm.sum, x[k]);
    }
  } else {
    a.get(x);
  }

  TeamSums<false> team_sum(scratch, norm.warps, team);
  float mean = 0;
  if (layer) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += x[k][i];  // 0 beyond the last column
    mean = team_sum(sum) * norm.reciprocal_width;
  }
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      if (column_of(k) + (Rows::kWhole ? 0 : i) < norm.columns)
        squares += (x[k][i] - mean) * (x[k][i] - mean);
  const float scale = rsqrtf(team_sum(squares) * norm.reciprocal_width + norm.epsilon);

#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    if (column_of(k) >= norm.columns) break;
    const auto weight = Rows::load(norm.weight, column_of(k), norm.columns - column_of(k));
    typename Rows::Raw bias = {};
    if (layer) bias = Rows::load(norm.bias, column_of(k), norm.columns - column_of(k));
#pragma unroll
    for (int i = 0; i < kVector; ++i) x[k][i] = (x[k][i] - mean) * scale * weight.at(i) + bias.at(i);
    Rows::store(norm.y, place_of(k), norm.columns - column_of(k), x[k]);
  }
  if (thread == 0) {
    if (layer) norm.mean[row] = mean;
    norm.scale[row] = scale;
  }
}

void launch_norm(const KernelCall& call, NormForward& norm) {
  if (norm.rows == 0 || norm.columns == 0) return;
  const auto launch = [&](auto kernel, const NormTeams& teams) {
    norm.warps = teams.warps;
    norm.teams = teams.teams;
    kernel<<<blocks_for(norm.rows, teams.teams), teams.threads(), 0, call.stream>>>(norm);
  };
  const DType dtype = norm.y.dtype;
  const NormTeams teams = NormTeams::of(norm.columns, static_cast<int>(16 / size_of(dtype)));
  const NormTeams any = NormTeams::of_any(norm.columns);
  if (teams.vectors > 0 &&
      same_type_rows(dtype, norm.columns,
                     {norm.a, norm.b, norm.sum, norm.dropped, norm.y, norm.weight, norm.bias}))
    with_rows<1, 3, 4, 8>(teams, dtype, [&](auto rows, auto vectors) {
      if (norm.dropout.mask.random != nullptr)
        launch(norm_rows<decltype(rows), vectors(), true>, teams);
      else
        launch(norm_rows<decltype(rows), vectors(), false>, teams);
    });
  else
    with_any_rows(any,
                  [&](auto rows, auto vectors) { launch(norm_rows<decltype(rows), vectors(), true>, any); });
  check_launch(call);
}

// Everything but what is normed.
NormForward norm_of(const OpCall& op) {
  const bool layer = op.op.op.kind == OpKind::kLayerNorm;
  NormForward norm{};
  norm.rows = op.inputs[0].rows();
  norm.columns = static_cast<int>(op.inputs[0].columns());
  norm.weight = row_operand(op.inputs[1]);
  if (layer) norm.bias = row_operand(op.inputs[2]);
  norm.epsilon = static_cast<float>(op.attributes().real("epsilon"));
  norm.reciprocal_width = 1.0F / static_cast<float>(norm.columns);
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
  check(add.inputs[1].elements() % norm.columns == 0, "a summand of a fused norm is not made up of rows");
  norm.b_rows = add.inputs[1].elements() / norm.columns;
  norm.sum = row_output(add, 0);
  if (call.ops.size() == 3) {
    const OpCall& dropout = call.ops[0];
    norm.dropout = dropout_op(dropout);
    norm.drops_a = add.inputs[0].tensor == dropout.outputs[0].tensor;
    check(norm.dropout.rows.rows == nullptr || norm.dropout.rows.width == norm.columns,
          "a fused dropout numbers elements of a row apart");
    norm.dropped = row_output(dropout, 0);
    RowOperand& summand = norm.drops_a ? norm.a : norm.b;
    summand.data = dropout.inputs[0].data;
    summand.dtype = dropout.dtype(0);
  }
  launch_norm(call, norm);
}

}  // namespace nadi::inline engines::cuda
