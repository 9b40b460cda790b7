#include "nadi/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace nadi::inline engines::cpu {
namespace {

TEST(Gemm, EqualsThePlainOne) {
  prepare_gemm();
  const std::int64_t m = 13, n = 21, k = 34, room = 3;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const float beta : {0.0F, 1.0F}) {
        std::vector<float> a((std::max(m, k) + room) * std::max(m, k)),
            b((std::max(n, k) + room) * std::max(n, k));
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 17) - 8;
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 13) - 6;
        std::vector<float> c(m * (n + room), 2), expected = c;
        Gemm call{.m = m,
                  .n = n,
                  .k = k,
                  .alpha = 0.5F,
                  .a = a.data(),
                  .lda = (ta ? m : k) + room,
                  .transpose_a = ta,
                  .b = b.data(),
                  .ldb = (tb ? k : n) + room,
                  .transpose_b = tb,
                  .beta = beta,
                  .c = c.data(),
                  .ldc = n + room};
        gemm(call);
        call.c = expected.data();
        gemm_plain(call);
        EXPECT_EQ(c, expected);  // small integers: exact in any order
      }
}

}  // namespace
}  // namespace nadi::inline engines::cpu
