#include <dnnl.h>

#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/resource_shortage.h"
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
  if (status == dnnl_out_of_memory) throw memory_shortage();
  check(status == dnnl_success, "oneDNN refused a matrix product");
}

void prepare_gemm() {
  // Code of all kinds of products takes 6 MiB in oneDNN 2.6.
  constexpr Bytes kRoom = 8_MiB;
  constexpr std::int64_t kSize = 64;
  static const bool prepared = [] {
    expect_memory(kRoom);
    std::vector<float> zeros(3 * kSize * kSize);
    gemm({.m = kSize,
          .n = kSize,
          .k = kSize,
          .a = zeros.data(),
          .lda = kSize,
          .b = zeros.data() + kSize * kSize,
          .ldb = kSize,
          .c = zeros.data() + 2 * kSize * kSize,
          .ldc = kSize});
    return true;
  }();
  (void)prepared;
}

std::string_view gemm_library() {
  return NADI_VERSION_TEXT(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
}

}  // namespace nadi::inline engines::cpu
