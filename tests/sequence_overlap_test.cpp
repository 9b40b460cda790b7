// What sequence parallelism sends in the backward pass travels while the rank computes, as far as the CPU
// engine is concerned: a rank waits for the input that it gathers again no earlier than for the gradient of
// the weight, and for the reduce-scatter of the input's gradient no earlier than for what is behind the
// layer.
//
// The ranks are threads whose communication is done at the moment when it is waited for, so the recorded end
// of a collective is when the engine began to need it.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "nadi/comm/plan_groups.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution.h"
#include "nadi/train/step_inputs.h"
#include "random_integers.h"

namespace nadi {
namespace {

constexpr std::int64_t kBatch = 2, kTokens = 8;

Batch batch_for(const ModelConfig& config) {
  const auto integers = [](const std::string& name, std::int64_t below) {
    const Doubles values = random_integers(name, kBatch * kTokens, below);
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  return {.input_ids = integers("ids", config.vocabulary),
          .token_type_ids = integers("types", 2),
          .targets = integers("targets", config.vocabulary),
          .lengths = std::vector<std::int32_t>(kBatch, kTokens)};
}

TEST(SequenceOverlap, CommunicationOfTheBackwardPassIsWaitedForWhenItIsNeeded) {
  const ModelConfig config = tiny_model(architecture_named("gpt2"), 2);
  const Plan plan{.tp = 2, .sequence_parallel = true};
  const Program program = build_step(config, {.batch_size = kBatch, .seq_length = kTokens}, plan, 0);
  ThreadWorld world(2);
  std::vector<ExecutedStep> records(2, {.step = 1});
  const auto errors = world.run([&](Communicator& rank) {
    const PlanGroups groups(rank, plan);
    CpuEngine engine({.threads = 1, .groups = &groups});
    const ProgramHandle loaded = engine.load(program);
    engine.bind();
    engine.initialize(1);
    const StepScalars scalars{.seed = 42, .step = 1, .token_count = kBatch * kTokens};
    const StepInputs inputs{engine, loaded};
    set_step_scalars(inputs, scalars);
    set_batch(inputs, batch_for(config), 0);
    set_random(inputs, scalars, 0, 0);
    engine.wait(engine.run(loaded, {.record = &records[to_number(rank.rank())]}));
  });
  for (const auto& error : errors) ASSERT_FALSE(error) << error->what();

  for (const ExecutedStep& record : records) {
    std::map<std::string, ExecutedKernel> ops;
    for (const ExecutedKernel& op : record.kernels) {
      const Section& section = program.section(program.instructions[op.instruction].section);
      ops[program.graph_of(section).op(op.op).name] = op;
    }
    for (const std::string block : {"transformer.h.0.", "transformer.h.1."})
      for (const auto& [layer, norm] :
           {std::pair{"attn.c_attn.", "ln_1."}, std::pair{"mlp.c_fc.", "ln_2."}}) {
        const auto op = [&, prefix = block + layer](const std::string& name) {
          return ops.at(prefix + name);
        };
        SCOPED_TRACE(block + layer);
        EXPECT_LE(op("all_gather.again").start, op("matmul.grad_a").start);
        EXPECT_GE(op("all_gather.again").end, op("matmul.grad_a").end);
        EXPECT_LE(op("all_gather.again").end, op("matmul.grad_b").start);
        EXPECT_LE(op("reduce_scatter.grad").start, op("matmul.grad_b").start);
        EXPECT_GE(op("reduce_scatter.grad").end, op("matmul.grad_b").end);
        EXPECT_LE(op("reduce_scatter.grad").end, ops.at(block + norm + "layer_norm_grad").start);
      }
  }
}

}  // namespace
}  // namespace nadi
