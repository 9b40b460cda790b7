// The matrix product of fp32 matrices, by whichever library the build found: oneDNN, else OpenBLAS, else
// plain loops of our own. All matrix work of the CPU engine outside of attention goes through here.
//
//   gemm({.m = 4, .n = 8, .k = 16, .a = a, .lda = 16, .b = b, .ldb = 8, .c = c, .ldc = 8});
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline engines::cpu {

// c = alpha * op(a) op(b) + beta * c, row-major. op(a) is [m, k], op(b) is [k, n]; a transposed operand lies
// in memory as [k, m] or [n, k]. Leading dimensions are elements from row to row of what lies in memory. With
// beta = 0, what c held does not matter.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 0;
  bool transpose_a = false;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  bool transpose_b = false;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
};

// On all threads of the pool, or, called within parallel_for(), on the calling one. No signal handler may run
// on these threads meanwhile: kernels of oneDNN use the stack pointer as an ordinary register, so that the
// handler's frame overwrites other memory. A program with handlers blocks their signals on computing threads,
// or gives every thread an alternate stack.
void gemm(const Gemm& call);

// Has the library generate its code, once, before a run takes its memory and its threads: oneDNN writes to
// address 0 where it gets none for that. With one thread in the pool: heaps of others would take what there is.
// Error (environment) where memory is short.
void prepare_gemm();

// The reference: three loops.
void gemm_plain(const Gemm& call);

// "oneDNN 2.6.3", "OpenBLAS", "plain loops".
std::string_view gemm_library();

}  // namespace nadi::inline engines::cpu
