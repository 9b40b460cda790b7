// Every gradient rule against finite differences. An op that can be differentiated and occurs in no case
// fails the test, so a new op arrives with its case.
#include <gtest/gtest.h>

#include "nadi/graph/op_definition.h"
#include "nadi/reference/gradient_check_for_tests.h"

namespace nadi::inline engines {
namespace {

// Central differences with step h err by h^2 in the function's third derivative and by 2^-53 / h in rounding:
// about 1e-10 both for h = 1e-5.
constexpr double kMaxError = 1e-6;

std::vector<GradientCase> all_cases() {
  std::vector<GradientCase> cases = gradient_cases();
  for (const std::vector<GradientCase>& more : {expert_gradient_cases(), collective_gradient_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

class Gradient : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  EXPECT_LE(gradient_error(GetParam()).largest, kMaxError);
}

// A wrong gradient is seen in every parameter: what the check above proves depends on it.
TEST_P(Gradient, CheckSeesAnErrorOfOneInTenThousand) {
  EXPECT_GT(gradient_error(GetParam(), {.falsify = 1e-4}).smallest, 50 * kMaxError);
}

INSTANTIATE_TEST_SUITE_P(Cases, Gradient, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GradientCases, CoverEveryDifferentiableOp) {
  std::set<OpKind> covered;
  for (const GradientCase& gradient_case : all_cases()) covered.merge(forward_ops(gradient_case));
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const OpDefinition& def = definition(OpKind{static_cast<std::uint8_t>(kind)});
    const bool differentiable = def.gradient != nullptr || def.straight_through;
    EXPECT_TRUE(!differentiable || covered.contains(def.kind)) << "no case for op " << def.name;
  }
}

}  // namespace
}  // namespace nadi::inline engines
