#include <gtest/gtest.h>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

// A quarter are the same, so that gradients meet.
Doubles token_values(std::int64_t count, std::int64_t vocabulary) {
  Doubles ids(count);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<double>((i % 4 == 0 ? 1 : i * 37) % static_cast<std::size_t>(vocabulary));
  return ids;
}

TEST(EmbeddingKernel, LooksRowsUpAndAddsThemBack) {
  for (const DType dtype : kStorage)
    for (const std::int64_t width : {1, 7, 64, 768, 1023}) {
      Problem p;
      const TensorId ids = p.integers("ids", Shape{2, 50}, token_values(100, 31));
      const TensorId dy = p.parameter("dy", Shape{2, 50, width}, dtype);
      embedding(p.builder, ids, p.parameter("table", Shape{31, width}, dtype));
      for (const bool accumulate : {false, true})
        p.builder.add(
            {.kind = OpKind::kEmbeddingGrad,
             .inputs = {ids, dy},
             .attributes = {{"rows", std::int64_t{31}}},
             .into = {{p.parameter(accumulate ? "sum" : "gradient", Shape{31, width}), accumulate}}});
      expect_same_as_reference(p);
    }
}

TEST(EmbeddingGradKernel, AddsInTheSameOrderWithAnyThreads) {
  Problem p;
  p.output(p.builder.add_one({.kind = OpKind::kEmbeddingGrad,
                              .inputs = {p.integers("ids", Shape{500}, token_values(500, 31)),
                                         p.normal_input("dy", Shape{500, 100})},
                              .attributes = {{"rows", std::int64_t{31}}}}));
  EXPECT_EQ(run_kernels(p, 1), run_kernels(p, 3));
}

// Rows that nearly all tokens use, as token types are, and tables with far more rows than tokens.
TEST(EmbeddingGradKernel, AddsManyTokensOfFewRowsAndFewOfMany) {
  for (const std::int64_t rows : {1, 2, 700, 100'000}) {
    Problem p;
    p.output(p.builder.add_one({.kind = OpKind::kEmbeddingGrad,
                                .inputs = {p.integers("ids", Shape{3000}, token_values(3000, rows)),
                                           p.normal_input("dy", Shape{3000, 20})},
                                .attributes = {{"rows", rows}}}));
    expect_same_as_reference(p);
  }
}

TEST(EmbeddingKernel, LeavesOtherRanksRowsOut) {
  Problem p;
  const TensorId ids = p.integers("ids", Shape{100}, token_values(100, 31));
  const TensorId place = p.integers("place", Shape{1}, {1});  // rows 8 to 15
  embedding(p.builder, ids, p.normal_input("table", Shape{8, 200}), place);
  p.builder.add({.kind = OpKind::kEmbeddingGrad,
                 .inputs = {ids, p.normal_input("dy", Shape{100, 200}), place},
                 .attributes = {{"rows", std::int64_t{8}}}});
  expect_same_as_reference(p);
}

TEST(ArgmaxKernel, TakesTheFirstOfEqualOnes) {
  for (const DType dtype : kStorage)
    for (const std::int64_t columns : {1, 7, 8, 1023, 30000}) {
      Problem p;
      const TensorId logits = p.parameter("logits", Shape{3, columns}, dtype);
      Doubles& values = p.store["logits"];
      if (columns > 8) values[columns - 1] = values[columns + 6] = values[columns + 7] = 99;
      argmax(p.builder, {.logits = logits, .into = p.parameter("next", Shape{3}, DType::kI32)});
      argmax(p.builder, {.logits = logits,
                         .vocabulary = (columns + 1) / 2,
                         .into = p.parameter("next_of_half", Shape{3}, DType::kI32)});
      expect_same_as_reference(p);
    }
}

TEST(DecodingKernels, PickAndPlaceRows) {
  for (const DType dtype : kStorage) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{2, 5, 1023}, dtype);
    select_last_rows(p.builder, x, p.integers("lengths", Shape{2}, {5, 1}));
    take_tokens(p.builder, p.integers("ids", Shape{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                p.integers("indices", Shape{3}, {3, 0, 3}));
    cache_write(p.builder, {.cache = p.parameter("cache", Shape{2, 9, 1023}, dtype),
                            .rows = x,
                            .positions = p.integers("positions", Shape{2}, {4, 0})});
    cache_write(p.builder, {.cache = p.parameter("prefix", Shape{2, 9, 1023}, dtype), .rows = x});
    expect_same_as_reference(p);
  }
}

TEST(LookupKernels, CountersMoveOn) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    Problem p;
    p.store.set("positions", {3, 7, 1000000});
    const TensorId positions =
        p.builder.variable({.name = "positions", .shape = Shape{3}, .dtype = dtype, .role = Role::kCounter});
    advance(p.builder, positions, 1);
    expect_same_as_reference(p);
  }
}

}  // namespace
}  // namespace nadi::inline engines
