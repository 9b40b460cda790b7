#include "nadi/parallel/program_memory.h"

#include <gtest/gtest.h>

#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {
namespace {

ProgramMemory memory_of(const Plan& plan, std::int64_t stage) {
  return plan_program_memory(
      build_step(even_model(), {.batch_size = plan.micro_batches, .seq_length = 4}, plan, stage));
}

std::vector<std::int64_t> places_of(const ProgramMemory& memory) {
  std::vector<std::int64_t> places;
  for (const ProgramMemory::OfGraph& of : memory.graphs)
    for (const ProgramMemory::Ring& ring : of.rings) places.push_back(ring.places);
  return places;
}

TEST(ProgramMemory, WithoutAPipelineNothingIsReceived) {
  EXPECT_TRUE(places_of(memory_of({.micro_batches = 4}, 0)).empty());
}

// The first stage works on micro-batch 1 while the last works on 0, and sends it before the backward pass of
// 0, which still reads its input: two places. The gradient of an output is received and read at once.
TEST(ProgramMemory, AnInputThatComesEarlyHasAPlaceOfItsOwn) {
  const Plan plan{.pp = 2, .micro_batches = 4};
  EXPECT_EQ(places_of(memory_of(plan, 1)), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(places_of(memory_of(plan, 0)), (std::vector<std::int64_t>{1}));
}

// All forward, then all backward: every input waits for its backward pass.
TEST(ProgramMemory, GPipeKeepsAllInputs) {
  const Plan plan{.pp = 2, .schedule = ScheduleKind::kGPipe, .micro_batches = 4};
  EXPECT_EQ(places_of(memory_of(plan, 1)), (std::vector<std::int64_t>{4}));
}

TEST(ProgramMemory, RingsStandBehindSlotsAndAreCounted) {
  const ProgramMemory memory = memory_of({.pp = 2, .micro_batches = 4}, 1);
  // A micro-batch of one sequence: 4 tokens x width 8 x 4 bytes = 128 bytes, twice.
  const ProgramMemory::Ring& ring = memory.graphs[0].rings.at(0);
  EXPECT_EQ(ring.stride, Bytes{128});
  EXPECT_EQ(memory.total, ring.first + Bytes{256});
  EXPECT_EQ(memory.graphs[0].offsets[index(ring.tensor)], MemoryPlan::kOutsideArena);
}

}  // namespace
}  // namespace nadi::inline describe
