#include "nadi/graph/ops/rotary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/graph/ops/views.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

struct Case {
  std::string name;
  std::int64_t B, T, H, D;
  Doubles positions = {};
  Doubles token_positions = {};
  RotaryFrequencies frequencies = {};
  bool view = false;  // x is the first part of a wider tensor
};

const RotaryFrequencies kLlama31{.theta = 500000,
                                 .factor = 8,
                                 .low_frequency_factor = 1,
                                 .high_frequency_factor = 4,
                                 .original_positions = 8192};

std::vector<Case> cases() {
  return {{"one", 1, 1, 1, 2},
          {"plain", 2, 70, 3, 64},
          {"odd_half", 2, 5, 3, 22},
          {"decode", 3, 1, 4, 32, {0, 17, 17}},
          {"far", 2, 3, 2, 64, {131069, 4095}},
          {"far_stretched", 2, 3, 2, 128, {131069, 8000}, {}, kLlama31},
          {"some_tokens", 2, 4, 2, 16, {}, {2, 3, 120000, 120001}},
          {"view", 2, 40, 3, 32, {}, {}, {}, true}};
}

class RotaryKernel : public testing::TestWithParam<Case> {};

TEST_P(RotaryKernel, EqualsTheReference) {
  const Case& c = GetParam();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(std::string(to_string(dtype)));
      Problem p;
      const std::int64_t width = c.H * c.D;
      TensorId x = p.parameter("x", Shape{c.B, c.T, c.view ? width + 5 : width}, dtype);
      if (c.view) x = split(p.builder, x, 2, std::vector<std::int64_t>{width, 5})[0];
      const TensorId y = rotary(
          p.builder,
          {.x = x,
           .positions = c.positions.empty() ? kNoTensor : p.integers("positions", Shape{c.B}, c.positions),
           .token_positions =
               c.token_positions.empty() ? kNoTensor : p.integers("tokens", Shape{c.T}, c.token_positions),
           .heads = c.H,
           .frequencies = c.frequencies});
      p.output(y);
      if (!c.view) {
        const Shape shape = p.builder.shape(y);
        p.store.set("x.grad", normal_values("x.grad", shape.elements()));
        p.store.set("dy", normal_values("dy", shape.elements()));
        add_backward(p.builder,
                     {.seeds = {{y, p.builder.input("dy", shape, dtype)}}, .accumulate = accumulate});
      }
      expect_same_as_reference(p);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, RotaryKernel, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace nadi::inline engines
