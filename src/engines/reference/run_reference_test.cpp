#include "nadi/reference/run_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

using testing::HasSubstr;

// The message of the Error (input) that the function throws.
template <typename F>
std::string message_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(Initialize, FollowsTheInitializers) {
  GraphBuilder b;
  b.constant("numbers", Shape{2, 2}, DType::kI32, Initializer::iota());
  b.parameter("bias", Shape{2}, DType::kF32, Initializer::constant(0.5));
  const TensorId weight = b.parameter("weight", Shape{3}, DType::kBF16, Initializer::normal(2));
  b.variable({.name = "weight.master", .shape = Shape{3}, .initializer = Initializer::copy_of(weight)});
  ReferenceStore store;
  initialize(b.graph(), store, 9);
  EXPECT_EQ(store.get("numbers"), (Doubles{0, 1, 2, 3}));
  EXPECT_EQ(store.get("bias"), (Doubles{0.5, 0.5}));
  const RandomKey key{.seed = 9, .site = site_of("weight")};
  EXPECT_EQ(store.get("weight"),
            (Doubles{2.0 * random_normal(key, 0), 2.0 * random_normal(key, 1), 2.0 * random_normal(key, 2)}));
  EXPECT_EQ(store.get("weight.master"), store.get("weight"));
}

TEST(Initialize, KeepsWhatIsThere) {
  GraphBuilder b;
  const TensorId weight = b.parameter("weight", Shape{1}, DType::kBF16, Initializer::normal(2));
  b.variable({.name = "weight.master", .shape = Shape{1}, .initializer = Initializer::copy_of(weight)});
  ReferenceStore store;
  store.set("weight", {42});
  initialize(b.graph(), store, 9);
  EXPECT_EQ(store.get("weight"), Doubles{42});
  EXPECT_EQ(store.get("weight.master"), Doubles{42});
}

TEST(RunReference, NamesTheInputThatIsMissing) {
  GraphBuilder b;
  const TensorId x = b.input("tokens", Shape{2}, DType::kF32);
  add(b, x, x);
  ReferenceStore store;
  EXPECT_EQ(message_of([&] { run_reference(b.graph(), store); }), "input 'tokens' has no value");
  store.set("tokens", {1, 2, 3});
  EXPECT_EQ(message_of([&] { run_reference(b.graph(), store); }),
            "input 'tokens' has 3 elements, its shape [2] takes 2");
}

TEST(RunReference, NamesTheVariableThatHasNoValue) {
  GraphBuilder b;
  const TensorId w = b.parameter("w", Shape{2}, DType::kF32, Initializer::constant(1));
  add(b, w, w);
  ReferenceStore store;
  EXPECT_EQ(message_of([&] { run_reference(b.graph(), store); }), "variable 'w' has no value");
}

TEST(RunReference, RefusesToMeetOtherRanks) {
  Problem p;
  all_reduce(p.builder, {.x = p.input("x", Shape{1}, {1}), .group = {.group = "dp", .size = 2}});
  EXPECT_EQ(message_of([&] { p.run(); }), "op 'all_reduce' (all_reduce) communicates with other ranks");
}

TEST(RunReference, RefusesFractionsAsIntegers) {
  Problem p;
  embedding(p.builder, p.integers("ids", Shape{2}, {0, 1.5}), p.parameter("table", Shape{4, 2}));
  EXPECT_EQ(message_of([&] { p.run(); }), "input 'ids' of type i32 holds 1.5, which is no integer");
}

TEST(RunReference, NamesTheIdThatIsNotInTheTable) {
  Problem p;
  embedding(p.builder, p.integers("ids", Shape{3}, {0, 1, 7}), p.parameter("table", Shape{4, 2}));
  EXPECT_THAT(message_of([&] { p.run(); }),
              HasSubstr("id 7 at element 2 of 'ids' is not in a table of 4 rows"));
}

TEST(RunReference, NamesTheTargetThatIsNotInTheVocabulary) {
  Problem p;
  cross_entropy(p.builder, {.logits = p.parameter("logits", Shape{1, 4}),
                            .targets = p.integers("targets", Shape{1}, {3}),
                            .count = p.scalar("count", 1),
                            .vocabulary = 3});
  EXPECT_THAT(message_of([&] { p.run(); }), HasSubstr("target 3 of row 0 is not in a vocabulary of 3"));
}

TEST(RunReference, AccumulatesInVariables) {
  Problem p;
  const TensorId sum = p.builder.variable({.name = "sum", .shape = Shape{2}, .role = Role::kMetric});
  const TensorId x = p.input("x", Shape{2}, {1, 2});
  p.builder.add({.kind = OpKind::kCopy, .inputs = {x}, .into = {{sum, true}}});
  p.run();
  EXPECT_EQ(p.store.get("sum"), (Doubles{1, 2}));
  p.run();
  EXPECT_EQ(p.store.get("sum"), (Doubles{2, 4}));
  fill(p.builder, sum, 7);
  p.run();
  EXPECT_EQ(p.store.get("sum"), (Doubles{7, 7}));
}

// Two micro-batches, each with its own slot and inputs: first halves of both, then second halves.
TEST(RunReference, SlotsAndInputsBelongToMicroBatches) {
  GraphBuilder b;
  const TensorId sum = b.variable({.name = "sum", .shape = Shape{1}, .role = Role::kMetric});
  const TensorId x = b.input("x", Shape{1}, DType::kF32);
  const TensorId doubled = add(b, x, x);
  b.add({.kind = OpKind::kAdd, .inputs = {doubled, x}, .into = {{sum, true}}});
  ReferenceStore store;
  initialize(b.graph(), store, 1);
  std::array<ReferenceStore, 2> inputs;
  inputs[0].set("x", {1});
  inputs[1].set("x", {10});
  std::array<ReferenceSlot, 2> slots;
  for (const OpRange half : {OpRange{0, 1}, OpRange{1, 2}})
    for (const int batch : {0, 1})
      run_reference({.graph = &b.graph(), .ops = half, .slot = &slots[batch], .inputs = &inputs[batch]},
                    store);
  EXPECT_EQ(slots[1][doubled], Doubles{20});
  EXPECT_EQ(store.get("sum"), Doubles{33});  // 3 * 1 + 3 * 10
  EXPECT_EQ(message_of([&] {
              run_reference({.graph = &b.graph(), .ops = {1, 2}}, store);
            }),
            "value 'add' has no value");
}

}  // namespace
}  // namespace nadi::inline engines
