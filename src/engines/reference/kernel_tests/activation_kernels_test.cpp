#include <gtest/gtest.h>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};
constexpr std::int64_t kElements[]{1, 7, 8, 511, 513, 30001};  // blocks are of 512

template <class Build>
void expect_reference(const Build& build) {
  for (const DType dtype : kStorage)
    for (const std::int64_t elements : kElements) {
      Problem p;
      build(p, elements, dtype);
      expect_same_as_reference(p);
    }
}

// Values as in a network, and some that are far out.
TensorId operand(Problem& p, const std::string& name, std::int64_t elements, DType dtype) {
  const TensorId id = p.parameter(name, Shape{elements}, dtype);
  Doubles values = normal_values(name, elements);
  for (std::size_t i = 0; i < values.size(); i += 13) values[i] *= 20;
  p.store.set(name, values);
  return id;
}

TEST(GeluKernel, IsTheReference) {
  expect_reference([](Problem& p, std::int64_t elements, DType dtype) {
    const TensorId x = operand(p, "x", elements, dtype);
    for (const Activation form : {Activation::kGeluTanh, Activation::kGeluErf}) gelu(p.builder, x, form);
    p.builder.add({.kind = OpKind::kGelu, .inputs = {x}, .into = {{x}}});
  });
}

TEST(GeluGradKernel, IsTheReference) {
  expect_reference([](Problem& p, std::int64_t elements, DType dtype) {
    const TensorId x = operand(p, "x", elements, dtype), dy = operand(p, "dy", elements, dtype);
    for (const Activation form : {Activation::kGeluTanh, Activation::kGeluErf, Activation::kNone})
      p.builder.add({.kind = OpKind::kGeluGrad,
                     .inputs = {x, dy},
                     .attributes = {{"form", std::string(to_string(form))}}});
    p.builder.add({.kind = OpKind::kGeluGrad, .inputs = {x, dy}, .into = {{dy}}});
    p.builder.add({.kind = OpKind::kGeluGrad,
                   .inputs = {x, dy},
                   .into = {{p.parameter("gradient", Shape{elements}), true}}});
  });
}

TEST(SwigluKernel, IsTheReference) {
  expect_reference([](Problem& p, std::int64_t elements, DType dtype) {
    const TensorId gate = operand(p, "gate", elements, dtype), up = operand(p, "up", elements, dtype);
    swiglu(p.builder, gate, up);
    p.builder.add({.kind = OpKind::kSwiglu, .inputs = {gate, up}, .into = {{gate}}});
  });
}

TEST(SwigluGradKernel, IsTheReference) {
  expect_reference([](Problem& p, std::int64_t elements, DType dtype) {
    const TensorId gate = operand(p, "gate", elements, dtype), up = operand(p, "up", elements, dtype);
    const TensorId dy = operand(p, "dy", elements, dtype);
    p.builder.add({.kind = OpKind::kSwigluGrad, .inputs = {gate, up, dy}});
    p.builder.add({.kind = OpKind::kSwigluGrad, .inputs = {gate, up, dy}, .into = {{dy}}});
  });
}

}  // namespace
}  // namespace nadi::inline engines
