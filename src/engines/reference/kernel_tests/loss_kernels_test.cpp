#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

struct Case {
  std::int64_t rows, columns, vocabulary;
};
constexpr Case kCases[]{{1, 1, 1},      {65, 7, 7},    {3, 8, 5},        {5, 1023, 1000},
                        {33, 768, 768}, {600, 50, 43}, {4, 50304, 50257}};

// Logits that grow along the row, so that the running maximum moves, and now and then a row that is far out.
TensorId logits_of(Problem& p, const Case& c, DType dtype) {
  const TensorId logits = p.parameter("logits", Shape{c.rows, c.columns}, dtype);
  Doubles& values = p.store["logits"];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto columns = static_cast<std::size_t>(c.columns);
    values[i] += 8.0 * static_cast<double>(i % columns) / static_cast<double>(columns);
    if (i / columns % 3 == 1) values[i] += 60;
  }
  return logits;
}

// Every fifth does not count.
TensorId targets_of(Problem& p, const Case& c) {
  Doubles targets(c.rows);
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 5 == 4 ? -100 : static_cast<double>(i * 31 % static_cast<std::size_t>(c.vocabulary));
  return p.integers("targets", Shape{c.rows}, targets);
}

TEST(CrossEntropyKernel, IsTheReference) {
  for (const DType dtype : kStorage)
    for (const Case& c : kCases) {
      Problem p;
      const TensorId logits = logits_of(p, c, dtype), targets = targets_of(p, c);
      const TensorId count = p.scalar("count", 7);
      cross_entropy(p.builder, {.logits = logits,
                                .targets = targets,
                                .count = count,
                                .vocabulary = c.vocabulary,
                                .into = {p.parameter("loss", Shape{}), true}});
      const TensorId statistics = *p.builder.graph().find_tensor("cross_entropy:1");
      for (const OpOutput into : {OpOutput{}, OpOutput{logits}})
        p.builder.add(
            {.kind = OpKind::kCrossEntropyGrad,
             .inputs = {logits, targets, count, statistics, p.scalar(into.tensor == logits ? "a" : "b", 3)},
             .attributes = {{"vocabulary", c.vocabulary}},
             .into = {into}});
      expect_same_as_reference(p);
    }
}

TEST(CrossEntropyKernel, DoesNotDependOnThreads) {
  Problem p;
  const Case c{.rows = 65, .columns = 768, .vocabulary = 768};
  p.output(cross_entropy(
      p.builder,
      {.logits = logits_of(p, c, DType::kF32), .targets = targets_of(p, c), .count = p.scalar("count", 52)}));
  EXPECT_EQ(run_kernels(p, 1), run_kernels(p, 3));
}

TEST(CrossEntropyKernel, TakesMinusInfinityForNoProbability) {
  // More than a block of minus infinity first; then twice the same, so that the loss is ln 2.
  Problem p;
  Doubles logits(600, -std::numeric_limits<double>::infinity());
  logits[598] = logits[599] = 1;
  p.output(cross_entropy(p.builder, {.logits = p.input("logits", Shape{1, 600}, logits),
                                     .targets = p.integers("targets", Shape{1}, {599}),
                                     .count = p.scalar("count", 1)}));
  EXPECT_FLOAT_EQ(run_kernels_for_floats(p, 1)[0], std::numbers::ln2_v<float>);
}

TEST(CrossEntropyKernel, DoesNotHideNaN) {
  Problem p;
  Doubles logits(600, 1);
  logits[3] = std::numeric_limits<double>::quiet_NaN();
  p.output(cross_entropy(p.builder, {.logits = p.input("logits", Shape{1, 600}, logits),
                                     .targets = p.integers("targets", Shape{1}, {599}),
                                     .count = p.scalar("count", 1)}));
  EXPECT_TRUE(std::isnan(run_kernels_for_floats(p, 1)[0]));
}

TEST(VocabMaxKernel, IsMinusInfinityWhereAllIsPadding) {
  Problem p;  // Place 2 has columns 8 to 11 of a vocabulary of 7.
  p.output(p.builder.add_one(
      {.kind = OpKind::kVocabMax,
       .inputs = {p.normal_input("logits", Shape{1, 4}), p.integers("place", Shape{1}, {2})},
       .attributes = {{"vocabulary", std::int64_t{7}}}}));
  EXPECT_EQ(run_kernels_for_floats(p, 1)[0], -std::numeric_limits<float>::infinity());
}

TEST(ShardedCrossEntropyKernels, AreTheReference) {
  // Places of columns 10 to 19 and 30 to 39 of a vocabulary of 35, the second with padding.
  for (const DType dtype : kStorage)
    for (const double place : {1.0, 3.0}) {
      Problem p;
      const Case c{.rows = 65, .columns = 10, .vocabulary = 35};
      const TensorId targets = targets_of(p, c);
      const TensorId at = p.integers("place", Shape{1}, {place});
      // As if alone: the maximum and the sums of one rank are those of the group.
      sharded_cross_entropy(p.builder, {.whole = {.logits = logits_of(p, c, dtype),
                                                  .targets = targets,
                                                  .count = p.scalar("count", 50),
                                                  .vocabulary = c.vocabulary},
                                        .place = at,
                                        .group = "tp",
                                        .group_size = 1});
      p.builder.add(
          {.kind = OpKind::kCrossEntropyGrad,
           .inputs = {*p.builder.graph().find_tensor("logits"), targets,
                      *p.builder.graph().find_tensor("count"),
                      *p.builder.graph().find_tensor("sharded_cross_entropy:1"), p.scalar("dloss", 1), at},
           .attributes = {{"vocabulary", c.vocabulary}}});
      expect_same_as_reference(p);
    }
}

}  // namespace
}  // namespace nadi::inline engines
