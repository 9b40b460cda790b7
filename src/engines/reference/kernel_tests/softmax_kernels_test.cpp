#include "nadi/graph/ops/softmax.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/graph/ops/repeat_heads.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

// Adds the backward pass from a random gradient of y.
void differentiate(Problem& p, TensorId y, DType dtype, bool accumulate = false) {
  p.output(y);
  const Shape shape = p.builder.shape(y);
  p.store.set("dy", normal_values("dy", shape.elements()));
  add_backward(p.builder, {.seeds = {{y, p.builder.input("dy", shape, dtype)}}, .accumulate = accumulate});
}

struct Case {
  Shape scores;
  bool causal = false;
  Doubles lengths = {};
};

TEST(SoftmaxKernels, EqualTheReference) {
  const std::vector<Case> cases{{Shape{1, 1, 1, 1}},
                                {Shape{2, 3, 5, 7}},
                                {Shape{2, 2, 70, 70}, true},
                                {Shape{2, 2, 9, 1000}},
                                {Shape{3, 2, 33, 33}, true, {33, 20, 1}},
                                {Shape{2, 1, 4, 6}, false, {0, 6}}};
  for (const Case& c : cases)
    for (const DType dtype : kTypes) {
      SCOPED_TRACE(c.scores.to_string() + " " + std::string(to_string(dtype)));
      Problem p;
      const TensorId x = p.parameter("x", c.scores, dtype);
      const TensorId lengths =
          c.lengths.empty() ? kNoTensor : p.integers("lengths", Shape{c.scores[0]}, c.lengths);
      differentiate(p, softmax(p.builder, {.x = x, .lengths = lengths, .causal = c.causal}), dtype);
      expect_same_as_reference(p);
    }
}

// Gradients are added to what another micro-batch left.
TEST(SoftmaxKernels, Accumulate) {
  for (const DType dtype : kTypes) {
    Problem p;
    differentiate(p, softmax(p.builder, {.x = p.parameter("x", Shape{1, 2, 3, 600}, dtype)}), dtype, true);
    p.store.set("x.grad", normal_values("x.grad", 2 * 3 * 600));
    expect_same_as_reference(p);
  }
}

TEST(RepeatHeads, EqualTheReference) {
  for (const DType dtype : kTypes)
    for (const std::int64_t times : {1, 3, 4}) {
      Problem p;
      differentiate(p, repeat_heads(p.builder, p.parameter("x", Shape{2, 3, 45, 24}, dtype), times), dtype);
      expect_same_as_reference(p);
    }
}

}  // namespace
}  // namespace nadi::inline engines
