// Rows chosen by numbers: embeddings, caches, the next token. Rows are copied as bytes, 16 at a time where
// addresses allow it. Letters: B sequences, T tokens of each, W width.
//
// A number that is wrong cannot be refused here: it never leads out of a tensor's memory, and a row that is
// not there is NaN, which the loss then shows.
#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernels.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = kThreads / kWarp;

constexpr std::int64_t kElsewhere = -1;  // a row of another rank's part of a table
constexpr std::int64_t kNowhere = -2;    // a row that no table has

// The rows that ids name. With `place` the table is part number place[0] of several.
struct TableRows {
  Integers ids;
  Integers place;
  std::int64_t rows;

  __device__ std::int64_t of(std::int64_t token) const {
    const std::int64_t row = ids[token] - (place.data == nullptr ? 0 : place[0] * rows);
    if (row >= 0 && row < rows) return row;
    return place.data == nullptr ? kNowhere : kElsewhere;
  }
};
TableRows table_rows(const OpCall& embedding) {
  return {integers_of(embedding, 0), integers_of(embedding, 2), embedding.shape(1)[0]};
}

// The last row of a sequence: lengths[b] - 1 of T.
struct LastRows {
  Integers lengths;
  std::int64_t T;

  __device__ std::int64_t of(std::int64_t b) const {
    const std::int64_t length = lengths[b];
    return length >= 1 && length <= T ? b * T + length - 1 : kNowhere;
  }
};

// Row i of `to` is row source.of(i) of `from`, of `units` units each. Each row has a warp, or a whole block.
template <class Unit, class Source, int kRowThreads>
__global__ void __launch_bounds__(kThreads)
    copy_rows(const Unit* from, Source source, Unit* to, std::int64_t rows, int units) {
  // While a token is decoded, what follows may load its weights meanwhile.
  let_next_begin();
  const std::int64_t row = std::int64_t{blockIdx.x} * (kThreads / kRowThreads) + threadIdx.x / kRowThreads;
  if (row >= rows) return;
  const std::int64_t chosen = source.of(row);
  Unit* target = to + row * units;
  const int lane = static_cast<int>(threadIdx.x) % kRowThreads;
  if (chosen < 0) {
    // Zeros, or all bits set: NaN in every floating type.
    Unit filling;
    memset(&filling, chosen == kElsewhere ? 0 : 0xff, sizeof(Unit));
    for (int i = lane; i < units; i += kRowThreads) target[i] = filling;
    return;
  }
  const Unit* row_from = from + chosen * units;
#pragma unroll 4
  for (int i = lane; i < units; i += kRowThreads) target[i] = row_from[i];
}

// launch(tag of the unit): the largest of 16, 4 and 2 bytes that rows and addresses are multiples of.
template <class Launch>
void with_unit(std::int64_t row_bytes, std::initializer_list<const void*> addresses, const Launch& launch) {
  const auto fits = [&](std::int64_t bytes) {
    bool all = row_bytes % bytes == 0;
    for (const void* address : addresses) all = all && is_aligned(address, bytes);
    return all;
  };
  if (fits(16))
    launch(TypeTag<uint4>{});
  else if (fits(4))
    launch(TypeTag<std::uint32_t>{});
  else
    launch(TypeTag<std::uint16_t>{});
}

template <class Source>
void launch_copy_rows(const KernelCall& call, const Operand& from, const Source& source, const Operand& to) {
  const std::int64_t row_bytes = to.columns() * size_of(to.dtype());
  if (to.elements() == 0) return;
  check(from.dtype() == to.dtype(), "rows are copied between tensors of one type");
  const bool few = to.rows() <= call.device.traits().multiprocessors;
  with_unit(row_bytes, {from.data, to.data}, [&](auto tag) {
    using Unit = typename decltype(tag)::type;
    const auto launch = [&]<int kRowThreads>() {
      copy_rows<Unit, Source, kRowThreads>
          <<<blocks_for(to.rows(), kThreads / kRowThreads), kThreads, 0, call.stream>>>(
              reinterpret_cast<const Unit*>(from.data), source, reinterpret_cast<Unit*>(to.data), to.rows(),
              static_cast<int>(row_bytes / static_cast<std::int64_t>(sizeof(Unit))));
    };
    if (few)
      launch.template operator()<kThreads>();
    else
      launch.template operator()<kWarp>();
  });
  check_launch(call);
}

// --- Sums of embeddings

constexpr int kMostTables = 3;

template <class T>
struct Tables {
  TableRows rows[kMostTables];
  const T* data[kMostTables];
  int count;
  // Ids of one that is repeated along the leading axes; otherwise of all.
  unsigned fewest_ids;
};

// y = table 0's row + table 1's + ..., rounded after each sum as single ops do. A table whose ids are fewer
// than the tokens is repeated along the leading axes; the warps of a block have tokens of which it has the
// same row, so that it is read once.
template <class T, int N, int kTables>
__global__ void __launch_bounds__(kThreads, 6)
    sum_table_rows(Tables<T> tables, T* y, unsigned tokens, int width) {
  const unsigned number = blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp;
  if (number >= tokens) return;
  const unsigned repeats = tokens / tables.fewest_ids;
  const unsigned token = number % repeats * tables.fewest_ids + number / repeats;
  const T* rows[kTables];
  bool all_here = true, nowhere = false;
#pragma unroll
  for (int t = 0; t < kTables; ++t) {
    const std::int64_t row = tables.rows[t].of(token % static_cast<unsigned>(tables.rows[t].ids.count));
    all_here = all_here && row >= 0;
    nowhere = nowhere || row == kNowhere;
    rows[t] = row >= 0 ? tables.data[t] + row * width : nullptr;
  }
  T* target = y + std::int64_t{token} * width;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (!all_here) {
    for (int i = lane; i < width; i += kWarp) {
      T sum = from_float<T>(rows[0] == nullptr ? 0.0F : to_float(rows[0][i]));
      for (int t = 1; t < kTables; ++t)
        sum = from_float<T>(to_float(sum) + (rows[t] == nullptr ? 0.0F : to_float(rows[t][i])));
      target[i] = nowhere ? from_float<T>(NAN) : sum;
    }
    return;
  }
  for (int i = lane * N; i < width; i += kWarp * N) {
    Vector<T, N> values[kTables];
#pragma unroll
    for (int t = 0; t < kTables; ++t) values[t] = load_vector<T, N>(rows[t] + i);
#pragma unroll
    for (int t = 1; t < kTables; ++t)
#pragma unroll
      for (int k = 0; k < N; ++k) values[0].set(k, values[0].at(k) + values[t].at(k));
    store_vector(target + i, values[0]);
  }
}

// --- Caches and counters

struct CachePlace {
  std::int64_t rows, length, inserted;  // B, L, T
  Integers positions;                   // absent: 0
};

// A block per part of a sequence's new rows, which lie one after the other in the cache, too.
template <class Unit>
__global__ void __launch_bounds__(kThreads)
    write_cache(const Unit* rows, Unit* cache, CachePlace place, std::int64_t row_units) {
  const std::int64_t b = blockIdx.y;
  const std::int64_t position = place.positions.data == nullptr ? 0 : place.positions[b];
  if (position < 0 || position + place.inserted > place.length) return;
  const std::int64_t units = place.inserted * row_units;
  const Unit* from = rows + b * units;
  Unit* to = cache + (b * place.length + position) * row_units;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < units; i += threads)
    to[i] = from[i];
}

__global__ void __launch_bounds__(kThreads)
    pick_tokens(Integers ids, Integers indices, Integers y, std::int64_t T) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= y.count) return;
  const std::int64_t b = i / indices.count, index = indices[i % indices.count];
  // -1 is in no table.
  y.set(i, index >= 0 && index < T ? ids[b * T + index] : -1);
}

__global__ void __launch_bounds__(kThreads) add_to_integers(Integers from, Integers to, std::int64_t by) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < to.count) to.set(i, from[i] + by);
}

}  // namespace

void embedding_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_copy_rows(call, op.inputs[1], table_rows(op), op.outputs[0]);
}

void embeddings_sum_kernel(const KernelCall& call) {
  const Operand& y = call.ops.back().outputs[0];
  const std::int64_t tokens = y.rows(), width = y.columns();
  if (y.elements() == 0) return;
  with_type(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVector = 16 / sizeof(T);
    Tables<T> tables{};
    tables.fewest_ids = static_cast<unsigned>(tokens);
    bool vectors = width % kVector == 0 && is_aligned(y.data, 16);
    for (const OpCall& op : call.ops) {
      if (op.op.op.kind != OpKind::kEmbedding) continue;
      check(tables.count < kMostTables && op.dtype(1) == y.dtype(), "tables that cannot be summed at once");
      vectors = vectors && is_aligned(op.inputs[1].data, 16);
      const TableRows& rows = tables.rows[tables.count] = table_rows(op);
      tables.data[tables.count++] = op.in<T>(1);
      tables.fewest_ids = std::min(tables.fewest_ids, static_cast<unsigned>(rows.ids.count));
    }
    const auto launch = [&]<int N, int kTables>() {
      sum_table_rows<T, N, kTables><<<blocks_for(tokens, kRowsPerBlock), kThreads, 0, call.stream>>>(
          tables, reinterpret_cast<T*>(y.data), static_cast<unsigned>(tokens), static_cast<int>(width));
    };
    if (vectors && tables.count == 2)
      launch.template operator()<kVector, 2>();
    else if (vectors)
      launch.template operator()<kVector, 3>();
    else if (tables.count == 2)
      launch.template operator()<1, 2>();
    else
      launch.template operator()<1, 3>();
  });
  check_launch(call);
}

void select_rows_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  launch_copy_rows(call, op.inputs[0], LastRows{integers_of(op, 1), op.shape(0)[1]}, op.outputs[0]);
}

// The cache is a variable that is written where it is; the copy is there for one that is not.
void cache_write_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Operand& before = op.inputs[0];
  const Operand& rows = op.inputs[1];
  const Operand& cache = op.outputs[0];
  const std::int64_t element_size = size_of(cache.dtype()), B = rows.shape()[0];
  if (before.data != cache.data)
    cudaMemcpyAsync(cache.data, before.data, static_cast<std::size_t>(cache.elements() * element_size),
                    cudaMemcpyDeviceToDevice, call.stream);
  if (rows.elements() == 0) return check_launch(call);
  const std::int64_t row_bytes = rows.columns() * element_size;
  with_unit(row_bytes, {rows.data, cache.data}, [&](auto tag) {
    using Unit = typename decltype(tag)::type;
    const std::int64_t row_units = row_bytes / static_cast<std::int64_t>(sizeof(Unit));
    const unsigned blocks = std::min(blocks_for(rows.shape()[1] * row_units, kThreads), 1024U);
    write_cache<<<dim3(blocks, static_cast<unsigned>(B)), kThreads, 0, call.stream>>>(
        reinterpret_cast<const Unit*>(rows.data), reinterpret_cast<Unit*>(cache.data),
        {B, cache.shape()[1], rows.shape()[1], integers_of(op, 2)}, row_units);
  });
  check_launch(call);
}

void advance_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Integers to = integers_of(op.outputs[0]);
  if (to.count == 0) return;
  add_to_integers<<<blocks_for(to.count, kThreads), kThreads, 0, call.stream>>>(
      integers_of(op, 0), to, op.attributes().integer("by"));
  check_launch(call);
}

void take_tokens_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Integers y = integers_of(op.outputs[0]);
  if (y.count == 0) return;
  pick_tokens<<<blocks_for(y.count, kThreads), kThreads, 0, call.stream>>>(
      integers_of(op, 0), integers_of(op, 1), y, op.shape(0)[1]);
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
