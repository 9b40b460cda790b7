#include "nadi/graph/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"

namespace nadi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Graph two_layers(std::int64_t width, bool transpose = false, bool dropped = false) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 4}, DType::kF32);
  const TensorId w = b.parameter("fc.weight", transpose ? Shape{width, 4} : Shape{4, width}, DType::kF32, {});
  TensorId y;
  {
    const auto scope = b.in_layer("fc");
    y = matmul(b, {.a = x, .b = w, .transpose_b = transpose, .save_pre_activation = false});
  }
  const auto scope = b.in_layer("act");
  if (dropped) y = dropout(b, {.x = y, .random = random_input(b), .rate = 0.5});
  gelu(b, y, Activation::kGeluErf);
  return b.take();
}

TEST(Printer, OneLinePerOp) {
  EXPECT_EQ(print_graph(two_layers(3)),
            "input x: f32[2, 4]\n"
            "parameter fc.weight: f32[4, 3]\n"
            "fc.matmul: f32[2, 3] = matmul(x, fc.weight, -, -, -)  [forward]\n"
            "act.gelu: f32[2, 3] = gelu(fc.matmul) {form=gelu_erf}  [forward]\n");
}

TEST(CompareGraphs, EqualGraphsHaveNoDifference) {
  EXPECT_THAT(compare_graphs(two_layers(3), two_layers(3)), IsEmpty());
}

TEST(CompareGraphs, NamesWhatChanged) {
  EXPECT_THAT(
      compare_graphs(two_layers(3), two_layers(3, true)),
      ElementsAre(
          "~ op fc.matmul: attributes '' became 'transpose_b=true'",
          "~ tensor fc.weight: parameter fc.weight: f32[4, 3] became parameter fc.weight: f32[3, 4]"));
}

TEST(CompareGraphs, NamesWhatIsOnlyInOne) {
  const auto differences = compare_graphs(two_layers(3), two_layers(3, false, true));
  ASSERT_EQ(differences.size(), 4u);
  EXPECT_EQ(differences[0], "~ op act.gelu: inputs 'fc.matmul' became 'act.dropout'");
  EXPECT_THAT(differences[1],
              testing::StartsWith("+ op act.dropout: f32[2, 3] = dropout(fc.matmul, random, -) {rate=0.5"));
  EXPECT_EQ(differences[2], "+ input random: i64[3]");
  EXPECT_EQ(differences[3], "+ activation act.dropout: f32[2, 3]");
}

TEST(CompareGraphs, SeesAChangedOrder) {
  const auto build = [](bool swapped) {
    GraphBuilder b;
    const TensorId x = b.input("x", {2}, DType::kF32);
    for (int i = 0; i < 2; ++i) {
      const auto scope = b.in_layer((i == 0) != swapped ? "a" : "b");
      add(b, x, x);
    }
    return b.take();
  };
  EXPECT_THAT(compare_graphs(build(false), build(true)),
              ElementsAre("~ order: where one has op a.add, the other has op b.add"));
}

}  // namespace
}  // namespace nadi
