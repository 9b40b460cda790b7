#include "nadi/cuda/loss_with_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cuda/fusing.h"
#include "nadi/cuda/prepared_graph.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct LossStep {
  Architecture architecture = architecture_named("bert");
  std::int64_t vocabulary = 8000;
  Plan plan = {};
  int compute_capability = 90;
};

Program step_of(const LossStep& c) {
  ModelConfig model = tiny_model(c.architecture, 2);
  model.vocabulary = c.vocabulary;
  return build_step(model, {.batch_size = 2 * c.plan.micro_batches, .seq_length = 8, .dtype = DType::kBF16},
                    c.plan);
}

// Names of the ops that are computed with the loss.
std::vector<std::string_view> computed_with_loss(const LossStep& c) {
  const Program program = step_of(c);
  std::vector<std::string_view> kinds;
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    for (const FusedOps& ops : fused_ops(program, g, {.compute_capability = c.compute_capability}))
      for (std::uint32_t i = ops.ahead_first; i < ops.ahead_end; ++i)
        kinds.push_back(to_string(program.graphs[g].ops()[i].kind));
  return kinds;
}

TEST(GradientWithLoss, OfModelsWithAndWithoutBiasOfTheVocabulary) {
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("bert")}),
              ElementsAre("cross_entropy_grad", "sum_rows"));
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("gpt2")}),
              ElementsAre("cross_entropy_grad"));
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("llama")}),
              ElementsAre("cross_entropy_grad"));
}

TEST(GradientWithLoss, AlsoWithSeveralMicroBatches) {
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("gpt2"), .plan = {.micro_batches = 3}}),
              ElementsAre("cross_entropy_grad"));
}

TEST(GradientWithLoss, NotWhereRowsAreTooShortOrTooLongOrTheDeviceHasNoBulkCopies) {
  EXPECT_THAT(computed_with_loss({.vocabulary = 1000}), IsEmpty());
  // Sums of so many columns have no place in registers; alone rows may be longer.
  EXPECT_THAT(computed_with_loss({.vocabulary = 50257}), IsEmpty());
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("gpt2"), .vocabulary = 50257}),
              ElementsAre("cross_entropy_grad"));
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("llama"), .vocabulary = 128256}),
              IsEmpty());
  EXPECT_THAT(computed_with_loss({.compute_capability = 80}), IsEmpty());
}

TEST(GradientWithLoss, NotWhereTheVocabularyIsSplit) {
  EXPECT_THAT(computed_with_loss({.architecture = architecture_named("gpt2"), .plan = {.tp = 2}}), IsEmpty());
}

// The kernel writes the gradient over the logits: that is where the memory plan has it.
TEST(GradientWithLoss, TakesThePlaceOfLogits) {
  for (const std::int64_t micro_batches : {1, 3}) {
    const Program program = step_of({.plan = {.micro_batches = micro_batches}});
    const KernelPlan kernels = plan_cuda_kernels(program, {}, false);
    const ProgramMemory memory = plan_program_memory(program, memory_options(program, kernels));
    int found = 0;
    for (std::size_t g = 0; g < program.graphs.size(); ++g)
      for (const Op& op : program.graphs[g].ops()) {
        if (op.kind != OpKind::kCrossEntropyGrad) continue;
        ++found;
        EXPECT_EQ(memory.graphs[g].offsets[index(op.inputs[0])],
                  memory.graphs[g].offsets[index(op.outputs[0].tensor)]);
      }
    EXPECT_EQ(found, 1);
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
