#include "nadi/cpu/gemm.h"

namespace nadi::inline engines::cpu {

// Sums in double precision: the oracle of the libraries, and what builds without any of them run on.
void gemm_plain(const Gemm& call) {
  for (std::int64_t i = 0; i < call.m; ++i) {
    for (std::int64_t j = 0; j < call.n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < call.k; ++p) {
        const float a = call.transpose_a ? call.a[p * call.lda + i] : call.a[i * call.lda + p];
        const float b = call.transpose_b ? call.b[j * call.ldb + p] : call.b[p * call.ldb + j];
        sum += static_cast<double>(a) * b;
      }
      float& c = call.c[i * call.ldc + j];
      c = static_cast<float>(call.alpha * sum) + (call.beta == 0 ? 0 : call.beta * c);
    }
  }
}

}  // namespace nadi::inline engines::cpu
