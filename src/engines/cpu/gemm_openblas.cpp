#include <cblas.h>

#include "nadi/cpu/gemm.h"

namespace nadi::inline engines::cpu {

void gemm(const Gemm& call) {
  const auto as_int = [](std::int64_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, call.transpose_a ? CblasTrans : CblasNoTrans,
              call.transpose_b ? CblasTrans : CblasNoTrans, as_int(call.m), as_int(call.n), as_int(call.k),
              call.alpha, call.a, as_int(call.lda), call.b, as_int(call.ldb), call.beta, call.c,
              as_int(call.ldc));
}

void prepare_gemm() {}

std::string_view gemm_library() {
  return "OpenBLAS";
}

}  // namespace nadi::inline engines::cpu
