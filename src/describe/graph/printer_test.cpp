#include "nadi/graph/printer.h"

#include <gtest/gtest.h>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"

namespace nadi::inline describe {
namespace {

TEST(Printer, OneLinePerOp) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 4}, DType::kF32);
  const TensorId w = b.parameter("fc.weight", {4, 3}, DType::kF32, {});
  TensorId y;
  {
    const auto scope = b.in_layer("fc");
    y = matmul(b, {.a = x, .b = w, .save_pre_activation = false});
  }
  {
    const auto scope = b.in_layer("act");
    gelu(b, y, Activation::kGeluErf);
  }
  EXPECT_EQ(print_graph(b.graph()),
            "input x: f32[2, 4]\n"
            "parameter fc.weight: f32[4, 3]\n"
            "fc.matmul: f32[2, 3] = matmul(x, fc.weight, -, -, -)  [forward]\n"
            "act.gelu: f32[2, 3] = gelu(fc.matmul) {form=gelu_erf}  [forward]\n");
}

}  // namespace
}  // namespace nadi::inline describe
