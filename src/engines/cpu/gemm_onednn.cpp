#include <dnnl.h>

#include <array>
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
  // In oneDNN 2.6 on AVX-512 the code takes 6 MiB, 12 MiB more of it for a transposed b and few rows.
  constexpr Bytes kCode = 32_MiB;
  static constexpr std::int64_t kDepth = 16, kLargest = 512;
  static constexpr std::array<std::array<std::int64_t, 2>, 4> kSizes{
      {{8, 16}, {16, 16}, {16, 512}, {512, 16}}};
  static const bool prepared = [] {
    expect_memory(kCode);
    const std::vector<float> zeros(kDepth * kLargest);
    std::vector<float> product = zeros;
    for (const auto& [m, n] : kSizes)
      for (const bool ta : {false, true})
        for (const bool tb : {false, true})
          gemm({.m = m,
                .n = n,
                .k = kDepth,
                .a = zeros.data(),
                .lda = ta ? m : kDepth,
                .transpose_a = ta,
                .b = zeros.data(),
                .ldb = tb ? kDepth : n,
                .transpose_b = tb,
                .c = product.data(),
                .ldc = n});
    return true;
  }();
  (void)prepared;
}

std::string_view gemm_library() {
  return NADI_VERSION_TEXT(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
}

}  // namespace nadi::inline engines::cpu
