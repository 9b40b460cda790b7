// Nothing is allocated while a training step runs: tensor, data and pipeline parallelism over MPI, with a
// record and without, on whatever thread. The first steps may allocate; the third is counted. What libraries
// take themselves, of MPI and of matrix products, is not (allocation_count.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "nadi/comm/mpi_world_for_tests.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/executed_step.h"
#include "nadi/testing/allocation_count.h"

namespace nadi {
namespace {

struct AllocationCase {
  std::string name;
  Plan plan;
};

// By number of ranks.
std::vector<AllocationCase> cases_of(std::int64_t ranks) {
  std::vector<AllocationCase> all = {
      {"tp2", {.tp = 2}},
      {"tp2_sequence_parallel", {.tp = 2, .sequence_parallel = true}},
      {"cp2", {.cp = 2}},
      {"dp2_zero1", {.dp = 2, .zero_stage = 1}},
      {"pp2", {.pp = 2, .micro_batches = 4}},
      {"tp2_dp2", {.tp = 2, .dp = 2, .micro_batches = 2}},
      {"dp2_pp2", {.dp = 2, .pp = 2, .micro_batches = 4}},
      {"dp4", {.dp = 4}},
      {"tp2_dp2_pp2", {.tp = 2, .dp = 2, .pp = 2, .micro_batches = 4}},
      {"tp2_dp2_pp2_zero1_interleaved",
       {.tp = 2,
        .dp = 2,
        .pp = 2,
        .zero_stage = 1,
        .schedule = ScheduleKind::kInterleaved,
        .virtual_stages = 2,
        .micro_batches = 4}},
  };
  std::erase_if(all, [&](const AllocationCase& entry) { return entry.plan.world_size() != ranks; });
  return all;
}

template <class T>
void set_all(Engine& engine, ProgramHandle program, const Tensor& input, T value) {
  const std::vector<T> values(static_cast<std::size_t>(input.shape.elements()), value);
  engine.set_input<T>(program, InputSet::kFirst, input.name, values);
}

// What is computed does not matter here: token 1 everywhere, and small scalars.
void set_inputs(Engine& engine, ProgramHandle handle, const Program& program) {
  std::set<std::string> seen;
  for (const Graph& graph : program.graphs)
    for (const Tensor& tensor : graph.tensors()) {
      const bool is_input = tensor.producer == kNoOp && !tensor.variable && tensor.role != Role::kConstant;
      if (!is_input || !seen.insert(tensor.name).second) continue;
      if (tensor.dtype == DType::kI32) set_all<std::int32_t>(engine, handle, tensor, 1);
      if (tensor.dtype == DType::kI64) set_all<std::int64_t>(engine, handle, tensor, 1);
      if (tensor.dtype == DType::kF32) set_all<float>(engine, handle, tensor, 1e-3F);
    }
}

void expect_no_allocations(Architecture architecture, const Plan& plan) {
  const PlanGroups groups(test_world(), plan);
  const StepRequest request{.batch_size = 8, .seq_length = 8, .layout = {.bucket_elements = 100}};
  const Program program =
      build_step(tiny_model(architecture, 4), request, plan, coordinates_of(plan, test_world().rank()).pp);
  CpuEngine engine(EngineOptions{.threads = 1, .groups = &groups});
  const ProgramHandle step = engine.load(program);
  engine.bind();
  engine.initialize(1);
  set_inputs(engine, step, program);
  for (int i = 0; i < 2; ++i) engine.wait(engine.run(step, {}));
  EXPECT_EQ(allocations_in([&] { engine.wait(engine.run(step, {})); }), 0);

  ExecutedStep record{.step = 3};
  std::size_t ops = 0;
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    ops += section.end_op - section.first_op;
  }
  record.reserve(ops, 2 * ops);
  {
    ExecutedStep warm{.step = 2};  // as many communications overlap as will
    engine.wait(engine.run(step, {.record = &warm}));
  }
  EXPECT_EQ(allocations_in([&] { engine.wait(engine.run(step, {.record = &record})); }), 0);
  EXPECT_GT(record.kernels.size(), 30u);
}

TEST(StepAllocations, there_are_none_of_gpt2) {
  const std::vector<AllocationCase> cases = cases_of(test_world().size());
  ASSERT_FALSE(cases.empty());
  for (const AllocationCase& entry : cases) {
    SCOPED_TRACE(entry.name);
    expect_no_allocations(architecture_named("gpt2"), entry.plan);
  }
}

TEST(StepAllocations, there_are_none_of_llama) {
  for (const AllocationCase& entry : cases_of(test_world().size())) {
    SCOPED_TRACE(entry.name);
    expect_no_allocations(architecture_named("llama"), entry.plan);
  }
}

}  // namespace
}  // namespace nadi
