#include "nadi/engine/bound_program.h"

#include <gtest/gtest.h>

#include "nadi/devices/make_engine.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines {
namespace {

Program generating(std::int64_t output_tokens) {
  return build_step(
      *find_built_in_model("gpt2-tiny"),
      {.kind = StepKind::kGenerate, .batch_size = 2, .input_tokens = 8, .output_tokens = output_tokens});
}

BoundProgram bound(const Program& program, bool gathers) {
  KernelPlan kernels = plan_kernels(DeviceKind::kCpu, program);
  kernels.gathers_inputs = gathers;
  return {program, std::move(kernels)};
}

std::vector<bool> repeated_sections(const BoundProgram& program) {
  std::vector<bool> repeated;
  for (std::uint32_t number = 0; number < program.program().sections.size(); ++number)
    repeated.push_back(program.is_repeated(SectionId{number}));
  return repeated;
}

// The prompt is one section, each further token another run of the second.
TEST(RepeatedSections, AreThoseThatSeveralInstructionsRun) {
  const Program several = generating(5), one = generating(2);
  EXPECT_EQ(repeated_sections(bound(several, false)), (std::vector{false, true}));
  EXPECT_EQ(repeated_sections(bound(one, false)), (std::vector{false, false}));
}

TEST(RepeatedSections, HaveAPlaceForTheirInputsThatIsCounted) {
  const Program program = generating(5);
  const BoundProgram gathering = bound(program, true);
  const SectionId second{1};
  Bytes sum;
  for (const BoundProgram::GatheredInput& input : gathering.gathered_inputs(second)) {
    const Tensor& tensor = program.graphs[program.section(second).graph].tensor(input.tensor);
    EXPECT_EQ(static_cast<std::int64_t>(input.size), tensor.size().count()) << tensor.name;
    EXPECT_FALSE(tensor.variable) << tensor.name;
    sum += aligned_size(tensor.size(), gathering.kernels().alignment);
  }
  EXPECT_EQ(gathering.own() - bound(program, false).own(), sum);
}

}  // namespace
}  // namespace nadi::inline engines
