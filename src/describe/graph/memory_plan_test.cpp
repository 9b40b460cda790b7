#include "nadi/graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kKiB = 1024;

// No two values that are alive at the same op share a byte, unless one took the other's place.
void expect_no_overlap(const Graph& graph, const MemoryPlan& plan) {
  const auto ops = graph.ops();
  std::vector<std::size_t> last(graph.tensors().size(), 0);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const TensorId t : ops[i].inputs)
      if (t != kNoTensor) last[index(layout_of(graph, t).root)] = i;
    for (const OpOutput& out : ops[i].outputs) last[index(layout_of(graph, out.tensor).root)] = i;
  }
  std::vector<TensorId> alive;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (definition(ops[i].kind).op_class == OpClass::kView) continue;
    for (const OpOutput& out : ops[i].outputs) {
      if (graph.tensor(out.tensor).producer == kNoOp) continue;
      const std::int64_t begin = plan.offsets[index(out.tensor)];
      const std::int64_t end = begin + graph.tensor(out.tensor).size().count();
      EXPECT_EQ(begin % kArenaAlignment, 0);
      EXPECT_LE(end, plan.arena.count());
      for (const TensorId other : alive) {
        if (last[index(other)] == i) continue;  // dies here: its place may be taken
        const std::int64_t other_begin = plan.offsets[index(other)];
        const std::int64_t other_end = other_begin + graph.tensor(other).size().count();
        EXPECT_TRUE(end <= other_begin || other_end <= begin)
            << graph.tensor(out.tensor).name << " over " << graph.tensor(other).name;
      }
    }
    std::erase_if(alive, [&](TensorId t) { return last[index(t)] <= i; });
    for (const OpOutput& out : ops[i].outputs)
      if (graph.tensor(out.tensor).producer != kNoOp && last[index(out.tensor)] > i)
        alive.push_back(out.tensor);
  }
}

TEST(MemoryPlan, ChainsTakeOverTheirInput) {
  GraphBuilder b;
  const TensorId x = b.input("x", {kKiB}, DType::kF32);  // 4 KiB
  const TensorId a = add(b, x, x);                       // an input is never overwritten: 4 KiB in the arena
  const TensorId c = add(b, a, x);                       // in place of a
  add(b, c, x);                                          // in place of c
  const MemoryPlan plan = plan_memory(b.graph());
  EXPECT_EQ(plan.arena, 4_KiB);
  EXPECT_EQ(plan.peak, 4_KiB);
}

TEST(MemoryPlan, AValueThatIsNeededLaterIsNotOverwritten) {
  GraphBuilder b;
  const TensorId x = b.input("x", {kKiB}, DType::kF32);
  const TensorId a = add(b, x, x);  // 4 KiB, needed until the last op
  const TensorId c = add(b, a, x);  // 4 KiB more
  add(b, c, a);                     // in place of c
  EXPECT_EQ(plan_memory(b.graph()).arena, 8_KiB);
}

TEST(MemoryPlan, BothInputsAliasedMeansNoTakeOver) {
  GraphBuilder b;
  const TensorId x = b.input("x", {kKiB}, DType::kF32);
  const TensorId a = add(b, x, x);
  gelu(b, a, Activation::kGeluTanh);  // may take a's place
  const TensorId c = add(b, x, x);
  add(b, c, c);  // reads c twice: a kernel could see half-written data
  expect_no_overlap(b.graph(), plan_memory(b.graph()));
  const MemoryPlan plan = plan_memory(b.graph());
  EXPECT_EQ(plan.arena, 8_KiB);
}

TEST(MemoryPlan, AViewKeepsWhatItShowsAlive) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, kKiB}, DType::kF32);
  const TensorId a = add(b, x, x);                                                         // 8 KiB
  const std::vector<TensorId> halves = split(b, a, 0, std::array<std::int64_t, 2>{1, 1});  // no memory
  const TensorId first = copy(b, halves[0]);                                               // 4 KiB
  const TensorId second = copy(b, halves[1]);  // 4 KiB, a still alive
  add(b, first, second);
  const MemoryPlan plan = plan_memory(b.graph());
  EXPECT_EQ(plan.peak, 16_KiB);
  EXPECT_EQ(plan.offsets[index(halves[1])], plan.offsets[index(a)]);
  expect_no_overlap(b.graph(), plan);
}

TEST(MemoryPlan, FreedSpaceIsUsedAgain) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, kKiB}, DType::kF32);
  const auto sum = [&](TensorId t) { return b.add_one({.kind = OpKind::kSumRows, .inputs = {t}}); };
  const TensorId first = sum(copy(b, x));   // 16 KiB for the copy, 4 KiB for the sum
  const TensorId second = sum(copy(b, x));  // the second copy where the first was, 4 KiB more for its sum
  add(b, first, second);
  const MemoryPlan plan = plan_memory(b.graph());
  EXPECT_EQ(plan.arena, 24_KiB);
  expect_no_overlap(b.graph(), plan);
}

// It is still sent while others compute, until somebody reads what was gathered.
TEST(MemoryPlan, WhatIsBeingGatheredIsNotOverwritten) {
  GraphBuilder b;
  const TensorId x = b.input("x", {kKiB}, DType::kF32);
  const TensorId part = add(b, x, x);                        // 4 KiB
  const TensorId whole = all_gather(b, part, {"tp", 2}, 0);  // 8 KiB
  const TensorId meanwhile = add(b, x, x);                   // 4 KiB, not where the part is
  gelu(b, whole, Activation::kGeluTanh);                     // in its place
  const TensorId later = add(b, x, x);                       // where the part was
  add(b, later, meanwhile);
  const MemoryPlan plan = plan_memory(b.graph());
  EXPECT_NE(plan.offsets[index(meanwhile)], plan.offsets[index(part)]);
  EXPECT_EQ(plan.offsets[index(later)], plan.offsets[index(part)]);
}

// Three values of four rows: rows of 16 + 8 + 8 floats are 128 bytes.
SharedRows three_in_a_row(TensorId a, TensorId b, TensorId c) {
  return {.values = {{a, 0}, {b, 64}, {c, 96}}, .size = 512};
}

TEST(MemoryPlan, SharedRowsAreOnePlaceWhileAnyOfTheirValuesIsNeeded) {
  GraphBuilder b;
  const TensorId wide = b.input("wide", {4, 16}, DType::kF32);
  const TensorId narrow = b.input("narrow", {4, 8}, DType::kF32);
  const TensorId first = copy(b, wide);  // these three by one kernel
  const TensorId second = copy(b, narrow);
  const TensorId third = copy(b, narrow);
  const TensorId shown = reshape(b, second, {2, 2, 8});
  const TensorId early = copy(b, first);  // the last use of the first; 256 bytes
  const TensorId late = copy(b, shown);   // the last use of all; not in the place of the first
  add(b, early, wide);
  add(b, late, late);
  const MemoryPlan plan =
      plan_memory(b.graph(), {.shared_rows = {three_in_a_row(first, second, third)}, .kernels = {{0, 3}}});
  const auto offset = [&](TensorId value) { return plan.offsets[index(value)]; };
  EXPECT_EQ(offset(second), offset(first) + 64);
  EXPECT_EQ(offset(shown), offset(second));
  EXPECT_EQ(offset(third), offset(first) + 96);
  EXPECT_EQ(plan.live[0], Bytes{512});
  for (const TensorId other : {early, late})
    EXPECT_TRUE(offset(other) >= offset(first) + 512 || offset(other) + 256 <= offset(first));
  EXPECT_EQ(plan.peak, Bytes{512 + 256 + 128});
}

// Its rows would lie elsewhere.
TEST(MemoryPlan, NobodyTakesThePlaceOfAValueInSharedRows) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 8}, DType::kF32);
  const TensorId first = add(b, x, x), second = add(b, x, x);
  gelu(b, first, Activation::kGeluTanh);
  gelu(b, second, Activation::kGeluTanh);
  const SharedRows rows{.values = {{first, 0}, {second, 32}}, .size = 256};
  const MemoryPlan plan = plan_memory(b.graph(), {.shared_rows = {rows}, .kernels = {{0, 2}}});
  EXPECT_EQ(plan.arena, Bytes{256 + 128});
}

TEST(MemoryPlan, RandomGraphsNeverOverlapAndStayNearThePeak) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    GraphBuilder b;
    std::vector<TensorId> values;
    for (int i = 0; i < 4; ++i)
      values.push_back(
          b.input("x" + std::to_string(i), {1 + static_cast<std::int64_t>(random() % 5000)}, DType::kF32));
    for (int i = 0; i < 200; ++i) {
      const TensorId x = values[random() % values.size()];
      switch (random() % 4) {
        case 0:
          values.push_back(copy(b, x));
          break;
        case 1:
          values.push_back(add(b, x, x));
          break;
        case 2:
          values.push_back(gelu(b, x, Activation::kGeluErf));
          break;
        case 3:
          values.push_back(concat(b, std::array{x, values[random() % values.size()]}, 0));
          break;
      }
      if (values.size() > 20) values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % 10));
    }
    const MemoryPlan plan = plan_memory(b.graph());
    expect_no_overlap(b.graph(), plan);
    EXPECT_GE(plan.arena, plan.peak);
    EXPECT_LE(plan.arena.count(), plan.peak.count() * 3 / 2);
  }
}

}  // namespace
}  // namespace nadi::inline describe
