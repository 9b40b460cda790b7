#include <dnnl.h>

#include "nadi/base/error.h"
#include "nadi/cpu/gemm.h"

#define NADI_TEXT(x) #x
#define NADI_VERSION_TEXT(major, minor) "oneDNN " NADI_TEXT(major) "." NADI_TEXT(minor)

namespace nadi::inline engines::cpu {

// oneDNN generates and keeps a kernel per kind of call itself; the plain interface costs no more than its
// primitives and takes any leading dimension.
void gemm(const Gemm& call) {
  const dnnl_status_t status =
      dnnl_sgemm(call.transpose_a ? 'T' : 'N', call.transpose_b ? 'T' : 'N', call.m, call.n, call.k,
                 call.alpha, call.a, call.lda, call.b, call.ldb, call.beta, call.c, call.ldc);
  check(status == dnnl_success, "oneDNN refused a matrix product");
}

std::string_view gemm_library() {
  return NADI_VERSION_TEXT(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
}

}  // namespace nadi::inline engines::cpu
