#include "nadi/engine/kernel_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "nadi/cpu/cpu_engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/activations.h"
#include "nadi/graph/ops/add.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines {
namespace {

Program training_step(std::int64_t bucket_elements, std::int64_t micro_batches = 1, std::int64_t dp = 1) {
  return build_step(
      tiny_model(architecture_named("gpt2"), 3),
      {.batch_size = 2 * micro_batches, .seq_length = 8, .layout = {.bucket_elements = bucket_elements}},
      {.dp = dp, .micro_batches = micro_batches});
}

std::size_t updates_of(const Program& program, std::size_t g) {
  std::size_t count = 0;
  for (const Op& op : program.graphs[g].ops()) count += op.kind == OpKind::kAdamW;
  return count;
}

// A bucket's parameters are updated by one kernel, since all that they read and write is one after the other.
TEST(NeighbouringOps, AreTheUpdatesOfABucket) {
  constexpr std::array kUpdates{OpKind::kAdamW};
  const Program program = training_step(1'000'000'000);
  const std::size_t optimizer = program.graphs.size() - 1;
  const std::vector<OpRun> runs = neighbouring_ops(program, optimizer, kUpdates);
  // One bucket of matrices, which decay, and one of vectors, which do not.
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].end - runs[0].first + runs[1].end - runs[1].first, updates_of(program, optimizer));
  for (const OpRun& run : runs)
    for (std::uint32_t i = run.first; i < run.end; ++i)
      EXPECT_EQ(program.graphs[optimizer].ops()[i].attributes,
                program.graphs[optimizer].ops()[run.first].attributes);
}

TEST(NeighbouringOps, EndWithTheirBucket) {
  constexpr std::array kUpdates{OpKind::kAdamW};
  const Program program = training_step(100, 1, 2);  // which are reduced one by one
  const std::size_t optimizer = program.graphs.size() - 1;
  std::set<std::string> in_runs;
  for (const OpRun& run : neighbouring_ops(program, optimizer, kUpdates)) {
    EXPECT_GT(run.end - run.first, 1u);
    std::int64_t elements = 0;  // without the last, the bucket was not full
    for (std::uint32_t i = run.first; i + 1 < run.end; ++i) {
      const Op& op = program.graphs[optimizer].ops()[i];
      elements += program.graphs[optimizer].tensor(op.outputs[0].tensor).shape.elements();
    }
    EXPECT_LT(elements, 100);
  }
}

TEST(NeighbouringOps, AreOfTheKindsAskedFor) {
  constexpr std::array kOther{OpKind::kSgd};
  const Program program = training_step(1'000'000);
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    EXPECT_TRUE(neighbouring_ops(program, g, kOther).empty());
}

// x -> gelu -> a -> add(a, a) -> b -> gelu -> c, which nobody reads.
Program chain() {
  GraphBuilder builder;
  const TensorId x = builder.input("x", Shape{1000}, DType::kF32);
  const TensorId a = gelu(builder, x, Activation::kGeluErf);
  const TensorId b = add(builder, a, a);
  gelu(builder, b, Activation::kGeluErf);
  Program program;
  program.graphs.push_back(builder.take());
  program.sections.push_back({.name = "forward", .end_op = 3});
  program.instructions.push_back({});
  program.slots = {1};
  return program;
}

TEST(MemoryOptions, ValuesWithinAKernelHaveNoMemory) {
  const Program program = chain();
  const KernelPlan apart{.graphs = {{{0, 1}, {1, 2}, {2, 3}}}};
  const KernelPlan two{.graphs = {{{0, 2}, {2, 3}}}};
  const KernelPlan one{.graphs = {{{0, 3}}}};
  const auto values_of = [&](const KernelPlan& plan) {
    return plan_program_memory(program, memory_options(program, plan));
  };
  EXPECT_NE(values_of(apart).graphs[0].offsets[1], MemoryPlan::kOutsideArena);
  EXPECT_EQ(values_of(two).graphs[0].offsets[1], MemoryPlan::kOutsideArena);
  EXPECT_NE(values_of(two).graphs[0].offsets[2], MemoryPlan::kOutsideArena);
  EXPECT_EQ(values_of(one).graphs[0].offsets[2], MemoryPlan::kOutsideArena);
  // What nobody reads is written all the same.
  EXPECT_NE(values_of(one).graphs[0].offsets[3], MemoryPlan::kOutsideArena);
  EXPECT_EQ(values_of(one).total, Bytes{4032});  // 4,000 bytes of c, in cache lines
}

TEST(MemoryOptions, AlignmentIsADevices) {
  const Program program = training_step(1'000'000, 2);
  MemoryOptions options{.alignment = 256};
  const ProgramMemory memory = plan_program_memory(program, options);
  for (const ProgramMemory::OfGraph& graph : memory.graphs)
    for (const std::int64_t offset : graph.offsets)
      if (offset != MemoryPlan::kOutsideArena) {
        EXPECT_EQ(offset % 256, 0);
      }
  EXPECT_GE(memory.total, plan_program_memory(program).total);
}

TEST(EngineMemory, IsWhatTheCpuEngineTakes) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")})
    for (const std::int64_t micro_batches : {1, 3}) {
      const Program program =
          build_step(tiny_model(architecture, 2), {.batch_size = 2 * micro_batches, .seq_length = 8},
                     {.micro_batches = micro_batches});
      CpuEngine engine(EngineOptions{.threads = 2});
      engine.load(program);
      engine.bind();
      EXPECT_EQ(engine.allocated(),
                engine_memory(program, plan_kernels(DeviceKind::kCpu, program, {.threads = 2})).total());
    }
}

}  // namespace
}  // namespace nadi::inline engines
