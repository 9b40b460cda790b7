// The gradient of an embedding: each row of the table gets the sum of the tokens that used it. Without
// atomics, and in one order:
//
//   Tokens are sorted by their row (radix_sort.cuh), stably, so that those of a row stay in order.
//   The sorted tokens are cut into tiles of 32. A block sums the rows of its tile one after the other; a row
//   that lies within the tile is done. One that reaches over an end of it leaves its sum in the workspace:
//   "left" where the row began in a tile before, else "right".
//   Where a row begins in a tile and goes on behind it, the sums of all its tiles are added in order.
//
// So it makes no difference how often a token occurs: all blocks have the same work.
#include "nadi/cuda/embedding_grad_workspace.h"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/radix_sort.cuh"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kTile = EmbeddingGradPlan::kTile;

// The table's row of a token; `rows` for one that another rank has, or nobody.
struct RowOfToken {
  Integers ids;
  Integers place;
  std::int64_t rows;

  __device__ std::uint32_t operator()(std::int64_t, int i) const {
    const std::int64_t row = ids[i] - (place.data == nullptr ? 0 : place[0] * rows);
    return static_cast<std::uint32_t>(row >= 0 && row < rows ? row : rows);
  }
};

template <class Out>
struct TableGradient {
  Out* data;
  std::int64_t rows, width;
  bool accumulate;

  template <int N>
  __device__ void put(std::int64_t row, std::int64_t column, const float (&sum)[N]) const {
    Out* to = data + row * width + column;
    Vector<Out, N> values;
    if (accumulate) values = load_vector<Out, N>(to);
#pragma unroll
    for (int k = 0; k < N; ++k) values.set(k, accumulate ? values.at(k) + sum[k] : sum[k]);
    store_vector(to, values);
  }
};

struct SortedTokens {
  SortedRows sorted;  // keys: rows of the table; positions: tokens
  int tokens;

  __device__ std::uint32_t row(int i) const { return sorted.keys[i]; }
};

// [tile, left or right, width]
struct TileSums {
  float* data;
  std::int64_t width;

  __device__ float* left(int tile) const { return data + std::int64_t{tile} * 2 * width; }
  __device__ float* right(int tile) const { return left(tile) + width; }
};

// Each thread has N columns of all tokens of a tile.
template <class T, class Out, int N>
__global__ void sum_tiles(const T* dy, SortedTokens tokens, TableGradient<Out> table, TileSums sums) {
  __shared__ std::uint32_t rows[kTile + 2];  // with the token before the tile and the one behind it
  __shared__ std::uint32_t positions[kTile];
  constexpr std::uint32_t kNone = 0xffffffffU;
  const auto tile = static_cast<int>(blockIdx.x);
  const int first = tile * kTile, count = min(kTile, tokens.tokens - first);
  for (int i = static_cast<int>(threadIdx.x); i < kTile + 2; i += static_cast<int>(blockDim.x)) {
    const int token = first + i - 1;
    rows[i] = token >= 0 && token < tokens.tokens ? tokens.row(token) : kNone;
    if (i < count) positions[i] = tokens.sorted.positions[first + i];
  }
  __syncthreads();
  const std::int64_t column = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * N;
  if (column >= table.width) return;

  constexpr int kInFlight = 8;
  float sum[N] = {};
  bool open_left = rows[0] == rows[1];
  for (int start = 0; start < count; start += kInFlight) {
    Vector<T, N> values[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j)
      if (start + j < count)
        values[j] = load_vector<T, N>(dy + std::int64_t{positions[start + j]} * table.width + column);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int i = start + j;
      if (i >= count) break;
#pragma unroll
      for (int k = 0; k < N; ++k) sum[k] += values[j].at(k);
      const std::uint32_t row = rows[i + 1];
      const bool goes_on = rows[i + 2] == row;
      if (goes_on && i + 1 < count) continue;
      if (row < table.rows) {
        if (open_left || goes_on) {
          float* to = (open_left ? sums.left(tile) : sums.right(tile)) + column;
#pragma unroll
          for (int k = 0; k < N; ++k) to[k] = sum[k];
        } else {
          table.put(row, column, sum);
        }
      }
      open_left = false;
#pragma unroll
      for (int k = 0; k < N; ++k) sum[k] = 0;
    }
  }
}

constexpr int kColumnLanes = 64;  // threads that have columns side by side
constexpr int kGroups = 4;        // of them; each sums a part of a row's tiles

// How many tiles behind `tile` begin with `row`. All threads of a block together, in whole warps.
__device__ int tiles_that_follow(const SortedTokens& tokens, int tile, std::uint32_t row) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int following = 0;
  while (true) {
    const std::int64_t first = std::int64_t{tile + 1 + following + lane} * kTile;
    const bool same = first < tokens.tokens && tokens.row(static_cast<int>(first)) == row;
    const unsigned others = ~__ballot_sync(kWholeWarp, same);
    if (others != 0) return following + __ffs(static_cast<int>(others)) - 1;
    following += kWarp;
  }
}

// A block per tile; it has something to do where a row begins in the tile and goes on behind it.
template <class Out, int N>
__global__ void __launch_bounds__(kColumnLanes* kGroups)
    add_tiles(SortedTokens tokens, TableGradient<Out> table, TileSums sums) {
  const auto tile = static_cast<int>(blockIdx.x);
  const int first = tile * kTile, end = first + kTile;
  if (end >= tokens.tokens) return;
  const std::uint32_t row = tokens.row(end - 1);
  if (row >= table.rows || tokens.row(end) != row) return;
  if (first > 0 && tokens.row(first - 1) == row) return;  // it began before
  const int following = tiles_that_follow(tokens, tile, row);

  __shared__ float of_groups[kGroups][kColumnLanes][N];
  const auto lane = static_cast<int>(threadIdx.x) % kColumnLanes;
  const auto group = static_cast<int>(threadIdx.x) / kColumnLanes;
  const int per_group = (following + kGroups - 1) / kGroups;
  const int group_first = tile + 1 + group * per_group;
  const int group_end = min(group_first + per_group, tile + 1 + following);
  const std::int64_t step = std::int64_t{gridDim.y} * kColumnLanes * N;
  for (std::int64_t start = std::int64_t{blockIdx.y} * kColumnLanes * N; start < table.width; start += step) {
    const std::int64_t column = start + lane * N;
    const bool inside = column < table.width;
    float sum[N] = {};
    if (inside) {
      if (group == 0) {
#pragma unroll
        for (int k = 0; k < N; ++k) sum[k] = sums.right(tile)[column + k];
      }
#pragma unroll 16
      for (int t = group_first; t < group_end; ++t) {
        const auto part = load_vector<float, N>(sums.left(t) + column);
#pragma unroll
        for (int k = 0; k < N; ++k) sum[k] += part.at(k);
      }
    }
#pragma unroll
    for (int k = 0; k < N; ++k) of_groups[group][lane][k] = sum[k];
    __syncthreads();
    if (group == 0 && inside) {
      for (int g = 1; g < kGroups; ++g)
#pragma unroll
        for (int k = 0; k < N; ++k) sum[k] += of_groups[g][lane][k];
      table.put(row, column, sum);
    }
    __syncthreads();
  }
}

template <class T, class Out, int N>
void launch_sums(const KernelCall& call, const EmbeddingGradPlan& plan, const SortedRows& sorted) {
  const OpCall& op = call.op();
  const SortedTokens tokens{sorted, static_cast<int>(plan.tokens)};
  const TableGradient<Out> table{op.out<Out>(0), plan.rows, plan.width, op.accumulates(0)};
  const TileSums sums{reinterpret_cast<float*>(call.workspace.data() + plan.sort().bytes()), plan.width};
  const std::int64_t columns = (plan.width + N - 1) / N;
  const auto threads =
      static_cast<unsigned>(std::min<std::int64_t>(256, (columns + kWarp - 1) / kWarp * kWarp));
  const auto tiles = static_cast<unsigned>(plan.tiles());
  sum_tiles<T, Out, N><<<dim3(tiles, blocks_for(columns, threads)), threads, 0, call.stream>>>(
      op.in<T>(1), tokens, table, sums);
  const unsigned parts = std::min(blocks_for(columns, kColumnLanes), 8U);
  add_tiles<Out, N><<<dim3(tiles, parts), kColumnLanes * kGroups, 0, call.stream>>>(tokens, table, sums);
}

template <class T, class Out>
void launch_sums(const KernelCall& call, const EmbeddingGradPlan& plan, const SortedRows& sorted) {
  const OpCall& op = call.op();
  const bool vectors = plan.width % 4 == 0 && is_aligned(op.inputs[1].data, 4 * sizeof(T)) &&
                       is_aligned(op.outputs[0].data, 4 * sizeof(Out));
  if (vectors)
    launch_sums<T, Out, 4>(call, plan, sorted);
  else
    launch_sums<T, Out, 1>(call, plan, sorted);
}

}  // namespace

void embedding_grad_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const EmbeddingGradPlan plan(op.op);
  const Operand& table = op.outputs[0];
  // Rows that no token uses.
  if (!op.accumulates(0))
    cudaMemsetAsync(table.data, 0, static_cast<std::size_t>(table.elements() * size_of(table.dtype())),
                    call.stream);
  if (plan.tokens == 0 || plan.width == 0) return check_launch(call);
  const SortedRows sorted =
      sort_rows(plan.sort(), RowOfToken{integers_of(op, 0), integers_of(op, 2), plan.rows},
                {.workspace = call.workspace.data(), .stream = call.stream});
  with_type(op.dtype(1), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (table.dtype() == DType::kF32)
      launch_sums<T, float>(call, plan, sorted);
    else if (table.dtype() == op.dtype(1))
      launch_sums<T, T>(call, plan, sorted);
    else
      check(false, "the gradient of a table is fp32, or of the type of its tokens' gradients");
  });
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
