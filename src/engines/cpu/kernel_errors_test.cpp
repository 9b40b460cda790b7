// What the CPU's kernels say about wrong numbers in their inputs. A GPU's kernels cannot: they read them when
// the host is elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CpuKernelErrors, SayWhichNumberIsWrong) {
  Problem unknown_id;
  embedding(unknown_id.builder, unknown_id.integers("ids", Shape{2}, {1, 4}),
            unknown_id.normal_input("table", Shape{4, 2}));
  EXPECT_THAT(error_of_kernels(unknown_id, 2),
              HasSubstr("id 4 at element 1 of 'ids' is not in a table of 4 rows"));

  Problem no_length;
  select_last_rows(no_length.builder, no_length.normal_input("x", Shape{2, 3, 1}),
                   no_length.integers("lengths", Shape{2}, {3, 0}));
  EXPECT_THAT(error_of_kernels(no_length, 2), HasSubstr("length 0 of sequence 1 is not between 1 and 3"));

  Problem no_index;
  take_tokens(no_index.builder, no_index.integers("ids", Shape{1, 2}, {1, 2}),
              no_index.integers("indices", Shape{1}, {2}));
  EXPECT_THAT(error_of_kernels(no_index, 2), HasSubstr("index 2 at 0 is not in a sequence of 2 tokens"));

  Problem full_cache;
  cache_write(full_cache.builder, {.cache = full_cache.parameter("cache", Shape{1, 4, 1}),
                                   .rows = full_cache.normal_input("rows", Shape{1, 2, 1}),
                                   .positions = full_cache.integers("positions", Shape{1}, {3})});
  EXPECT_THAT(error_of_kernels(full_cache, 2),
              HasSubstr("2 rows from position 3 of sequence 0 do not fit a cache of 4"));
}

TEST(CpuKernelErrors, SayWhichTargetIsWrong) {
  Problem p;
  cross_entropy(p.builder, {.logits = p.normal_input("logits", Shape{2, 4}),
                            .targets = p.integers("targets", Shape{2}, {1, 3}),
                            .count = p.scalar("count", 2),
                            .vocabulary = 3});
  EXPECT_THAT(error_of_kernels(p, 1), HasSubstr("target 3 of row 1 is not in a vocabulary of 3"));
}

TEST(CpuKernelErrors, RefuseSettingsThatMeanNothing) {
  const auto error_of = [](double temperature, double top_k, double top_p) {
    Problem p;
    sample(p.builder, {.logits = p.normal_input("logits", Shape{1, 9}),
                       .sampling = p.input("sampling", Shape{3}, {temperature, top_k, top_p}),
                       .random = p.random(),
                       .vocabulary = 9,
                       .into = p.parameter("next", Shape{1}, DType::kI32)});
    return error_of_kernels(p, 1);
  };
  EXPECT_THAT(error_of(-1, 0, 1), HasSubstr("a temperature of -1 is not"));
  EXPECT_THAT(error_of(kInfinity, 0, 1), HasSubstr("a temperature of inf is not"));
  EXPECT_THAT(error_of(1, -1, 1), HasSubstr("a top_k of -1 is not"));
  EXPECT_THAT(error_of(1, 1.5, 1), HasSubstr("a top_k of 1.5 is not"));
  EXPECT_THAT(error_of(1, 0, 1.5), HasSubstr("a top_p of 1.5 is not"));
  EXPECT_THAT(error_of(1, 0, -0.5), HasSubstr("a top_p of -0.5 is not"));
  EXPECT_EQ(error_of(1, kInfinity, 1), "");  // no limit
}

}  // namespace
}  // namespace nadi::inline engines
