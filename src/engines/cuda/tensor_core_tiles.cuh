// Attention on tensor cores, warp by warp: 16 rows that stay (queries or keys) and tiles of kTileRows rows
// that pass through shared memory. bf16 or fp16 operands, fp32 sums, by mma.sync m16n8k16.
//
// In a warp, lane 4 g + t has of every product of 16 rows and 8 columns the rows g and g + 8, columns 2 t and
// 2 t + 1: c[0], c[1] of the first row, c[2], c[3] of the second. Two such products side by side, packed to
// 16 bits, are the left operand of the next product, so that probabilities never leave their registers.
#pragma once

#include <cstdint>

#include "nadi/cuda/attention_device.cuh"

namespace nadi::inline engines::cuda {

constexpr int kTileRows = 64;
constexpr int kWarpRows = 16;

using Fragment = float[4];

__device__ inline void multiply_add(Fragment& c, const unsigned (&a)[4], unsigned b0, unsigned b1,
                                    __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply_add(Fragment& c, const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two neighbours, the first in the lower half.
__device__ inline unsigned pack(float first, float second, __nv_bfloat16) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
  return reinterpret_cast<const unsigned&>(both);
}
__device__ inline unsigned pack(float first, float second, __half) {
  const __half2 both = __floats2half2_rn(first, second);
  return reinterpret_cast<const unsigned&>(both);
}
// The left operand of 16 columns, from the results of two times 8.
template <class T>
__device__ void pack(const Fragment& left, const Fragment& right, unsigned (&a)[4]) {
  a[0] = pack(left[0], left[1], T{});
  a[1] = pack(left[2], left[3], T{});
  a[2] = pack(right[0], right[1], T{});
  a[3] = pack(right[2], right[3], T{});
}

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
constexpr float kLog2E = 1.44269504F;

__device__ inline unsigned shared_address(const void* address) {
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}
__device__ inline void load_matrices(unsigned address, unsigned (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned address, unsigned (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// Bytes from global to shared memory, while others are worked on; zeros where there are none.
__device__ inline void copy_16_bytes(unsigned to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
__device__ inline void copy_4_bytes(unsigned to, const void* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(exists ? 4 : 0)
               : "memory");
}
__device__ inline void end_of_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Where in a tile the rows go, within each 16: a thread's columns of two products side by side become four
// neighbours, which share random numbers (key 4 t + 2 c + e in row 8 c + 2 t + e).
struct NeighboursInColumns {
  __device__ static int row(int n) { return (n & ~15) | (n & 2) << 2 | (n & 12) >> 1 | (n & 1); }
};
struct InOrder {
  __device__ static int row(int n) { return n; }
};
// A thread's rows g and g + 8 become neighbours (key 2 g + e in row 8 e + g).
struct NeighboursInRows {
  __device__ static int row(int n) { return (n & ~15) | (n & 1) << 3 | (n & 14) >> 1; }
};

// kTileRows rows of kWidth elements in shared memory. Pieces of 16 bytes are permuted within their row so
// that the same piece of eight rows is in eight different banks.
template <class T, int kWidth>
struct TensorCoreTile {
  static constexpr int kPieces = kWidth / 8;
  static constexpr int kRowBytes = kWidth * 2;
  static constexpr int kBytes = kTileRows * kRowBytes;
  static_assert(kWidth % 32 == 0);

  __device__ static unsigned offset(int row, int piece) {
    const int permuted = kWidth % 64 == 0 ? piece ^ (row & 7) : piece ^ (row >> 1 & 3);
    return static_cast<unsigned>(row * kRowBytes + permuted * 16);
  }

  // Tokens from `first` on, as far as `count`; by all threads of the block.
  template <class Order, int kThreads>
  __device__ static void copy(const T* data, std::int64_t token_stride, int first, int count, int width,
                              unsigned tile) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kPieces; i += kThreads) {
      const int n = i / kPieces, piece = i % kPieces;
      const bool exists = first + n < count && piece * 8 < width;
      const T* from = exists ? data + (first + n) * token_stride + piece * 8 : data;
      copy_16_bytes(tile + offset(Order::row(n), piece), from, exists);
    }
  }

  // Right operands of columns 16 j to 16 j + 15 that are rows of the tile, elements 16 k to 16 k + 15: those
  // of the first eight columns in r[0], r[1], of the others in r[2], r[3].
  __device__ static void rows_as_columns(unsigned tile, int j, int k, unsigned (&r)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    load_matrices(tile + offset(16 * j + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2), r);
  }
  // The other way round: sums over rows 16 k to 16 k + 15, elements 16 j to 16 j + 15 as columns.
  __device__ static void rows_as_summands(unsigned tile, int k, int j, unsigned (&r)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    load_matrices_transposed(tile + offset(16 * k + lane / 8 % 2 * 8 + lane % 8, 2 * j + lane / 16), r);
  }
  // The left operand of rows 16 w to 16 w + 15.
  __device__ static void left_operand(unsigned tile, int w, int k, unsigned (&a)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    load_matrices(tile + offset(16 * w + lane / 8 % 2 * 8 + lane % 8, 2 * k + lane / 16), a);
  }
};

// Two rows of a lane, as left operands in registers.
template <class T, int kWidth>
struct RowsInRegisters {
  unsigned a[kWidth / 16][4];

  // `first`, `second`: elements of rows g and g + 8; nullptr means zeros.
  __device__ void load(const T* first, const T* second, int width) {
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int d = 16 * k + 8 * half + 2 * t;
        a[k][2 * half] = first != nullptr && d < width ? *reinterpret_cast<const unsigned*>(first + d) : 0;
        a[k][2 * half + 1] =
            second != nullptr && d < width ? *reinterpret_cast<const unsigned*>(second + d) : 0;
      }
  }
};

template <class T>
__device__ T* row_of(const HeadRows& rows, int b, int token, int head) {
  return reinterpret_cast<T*>(rows.data) + row_offset(rows, b, token, head);
}

// A row of results: elements 8 n + 2 t and the next, times `scale`.
template <class T, int kWidth>
__device__ void store_row(T* to, const Fragment (&sums)[kWidth / 8], int half, int width, float scale,
                          bool add) {
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int n = 0; n < kWidth / 8; ++n) {
    const int d = 8 * n + 2 * t;
    if (d >= width) continue;
    float first = sums[n][2 * half] * scale, second = sums[n][2 * half + 1] * scale;
    if (add) {
      first += to_float(to[d]);
      second += to_float(to[d + 1]);
    }
    *reinterpret_cast<unsigned*>(to + d) = pack(first, second, T{});
  }
}

// Bits 0 to 3: which of four keys from `key` on a query keeps, of which probabilities are numbered from `row`
// on. For keys that are not in_fours().
__device__ __noinline__ inline unsigned kept_one_by_one(const AttentionOperands& in,
                                                        const AttentionRandom& random, std::int64_t row,
                                                        int key) {
  unsigned bits = 0;
#pragma unroll 1
  for (int j = 0; j < 4; ++j)
    bits |= static_cast<unsigned>(random.kept(row + key_position(in, key + j))) << j;
  return bits;
}

// Which rows of which head a block has. Blocks that take long must begin first, so heads come in turn for
// each tile; but only so many heads that what they read stays in the second-level cache.
struct BlockPlace {
  static constexpr int kHeadsInTurn = 96;
  int tile, head, b;  // tiles are numbered in the order in which blocks begin

  __device__ BlockPlace(int tiles, int heads, int sequences) {
    const int all = heads * sequences, block = static_cast<int>(blockIdx.x);
    const int first = block / (kHeadsInTurn * tiles) * kHeadsInTurn, at = block - first * tiles;
    const int in_turn = min(kHeadsInTurn, all - first);
    tile = at / in_turn;
    head = (first + at % in_turn) % heads;
    b = (first + at % in_turn) / heads;
  }
};

// Whether the tensor-core kernels take operands like this one.
inline bool suits_tensor_cores(const HeadRows& rows, const AttentionOperands& in) {
  return rows.dtype == in.q.dtype && rows.aligned(in.extents.D);
}
inline bool suits_tensor_cores(const AttentionOperands& in) {
  return (in.q.dtype == DType::kBF16 || in.q.dtype == DType::kF16) && in.extents.D <= 128 &&
         in.extents.T <= INT_MAX / 2 && in.extents.S <= INT_MAX / 2 && suits_tensor_cores(in.q, in) &&
         suits_tensor_cores(in.k, in) && suits_tensor_cores(in.v, in);
}

}  // namespace nadi::inline engines::cuda
