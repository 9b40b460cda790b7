#include "nadi/parallel/step_summary.h"

#include <gtest/gtest.h>

#include "nadi/model/catalogue.h"

namespace nadi::inline describe {
namespace {

void expect_same_work(const WorkSummary& a, const WorkSummary& b) {
  EXPECT_EQ(a.ops, b.ops);
  EXPECT_EQ(a.linear, b.linear);
  EXPECT_EQ(a.head, b.head);
  EXPECT_EQ(a.attention, b.attention);
  EXPECT_EQ(a.cost.matrix, b.cost.matrix);
  EXPECT_EQ(a.cost.vector, b.cost.vector);
  EXPECT_EQ(a.cost.read, b.cost.read);
  EXPECT_EQ(a.cost.written, b.cost.written);
  EXPECT_EQ(a.cost.sent, b.cost.sent);
}

void expect_same_summary(const ProgramSummary& a, const ProgramSummary& b) {
  EXPECT_EQ(a.parameters, b.parameters);
  for (int p = 0; p < kPhaseCount; ++p) expect_same_work(a.phases[p], b.phases[p]);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].name, b.layers[i].name);
    EXPECT_EQ(a.layers[i].block, b.layers[i].block);
    EXPECT_EQ(a.layers[i].parameters, b.layers[i].parameters) << a.layers[i].name;
    for (int p = 0; p < kPhaseCount; ++p) expect_same_work(a.layers[i].phases[p], b.layers[i].phases[p]);
  }
  ASSERT_EQ(a.op_kinds.size(), b.op_kinds.size());
  for (const auto& [kind, work] : b.op_kinds) expect_same_work(a.op_kinds.at(kind), work);
  EXPECT_EQ(a.communication.size(), b.communication.size());
  EXPECT_EQ(a.memory.resident, b.memory.resident);
  EXPECT_EQ(a.memory.activations, b.memory.activations);
  EXPECT_EQ(a.memory.activations_live, b.memory.activations_live);
  EXPECT_EQ(a.memory.slots, b.memory.slots);
  EXPECT_EQ(a.memory.kept, b.memory.kept);
  EXPECT_EQ(a.memory.kept_per_block, b.memory.kept_per_block);
  EXPECT_EQ(a.memory.live_by_phase, b.memory.live_by_phase);
  EXPECT_EQ(a.memory.peak_op, b.memory.peak_op);
}

TEST(StepSummary, EqualsThatOfTheBuiltProgram) {
  std::vector<StepRequest> requests{{.batch_size = 4, .seq_length = 64},
                                    {.batch_size = 4, .seq_length = 512, .dtype = DType::kBF16},
                                    {.batch_size = 4, .seq_length = 64, .dtype = DType::kF16},
                                    {.batch_size = 4, .seq_length = 64, .fused_attention = false}};
  for (const auto granularity : {Recompute::Granularity::kSelective, Recompute::Granularity::kFull})
    requests.push_back({.batch_size = 4,
                        .seq_length = 256,
                        .fused_attention = false,
                        .recompute = {.granularity = granularity}});
  for (const char* model : {"gpt2", "bert-base-uncased", "llama3.1-8b", "llama3.1-405b"})
    for (const StepRequest& request : requests)
      for (const Plan& plan : {Plan{}, Plan{.micro_batches = 4}}) {
        SCOPED_TRACE(std::string(model) + ", request " + std::to_string(&request - requests.data()) + ", " +
                     std::to_string(plan.micro_batches) + " micro-batches");
        const ModelConfig& config = *find_built_in_model(model);
        expect_same_summary(summarize_step(config, request, plan, 0),
                            summarize(build_step(config, request, plan, 0)));
        if (HasFailure()) return;
      }
}

}  // namespace
}  // namespace nadi::inline describe
