#include "nadi/recording/execution_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

// "  model.h.0 250..5500": a line per span, indented by what it is.
std::vector<std::string> lines(const std::vector<ExecutionSpan>& spans) {
  std::vector<std::string> result;
  for (const ExecutionSpan& span : spans)
    result.push_back(std::string(static_cast<std::size_t>(span.kind), ' ') + std::string(span.name) + " " +
                     std::to_string(span.start.count()) + ".." + std::to_string(span.end.count()));
  return result;
}

// Calls of 1500 ns with 250 ns before each: 250..1750, 2000..3500, 3750..5250, 5500..7000.
TEST(ExecutionSpans, NestLayersWithinAPhaseWithinAStep) {
  const Program program = program_for_tests();
  EXPECT_THAT(lines(spans_of(program, execute_for_tests(program, 0, Nanoseconds{}))),
              ElementsAre(" 0..7250", " forward 250..7000",                                          //
                          "  model 250..5250", "  model.h.0 250..5250",                              //
                          "  model.h.0.attn 250..3500", "   matmul 250..1750", "   add 2000..3500",  //
                          "  model.h.0.mlp 3750..5250", "   add 3750..5250",                         //
                          "  head 5500..7000", "   add 5500..7000"));
}

TEST(ExecutionSpans, AnotherInstructionIsAnotherPhase) {
  Program program = program_for_tests();
  program.sections[0].first_op = 3;
  program.instructions.push_back({.section = SectionId{0}, .micro_batch = 1});
  EXPECT_THAT(lines(spans_of(program, execute_for_tests(program, 0, Nanoseconds{}))),
              ElementsAre(" 0..3750",                                                    //
                          " forward 250..1750", "  head 250..1750", "   add 250..1750",  //
                          " forward 2000..3500", "  head 2000..3500", "   add 2000..3500"));
}

TEST(ExecutionSpans, OtherStreamsHaveKernelsAlone) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels[1].stream = StreamId{1};
  step.kernels[1].start = step.kernels[0].start;  // beside the first call
  const std::vector<ExecutionSpan> spans = spans_of(program, step);
  EXPECT_THAT(lines({spans.end() - 2, spans.end()}), ElementsAre("   add 5500..7000", "   add 250..3500"));
  EXPECT_EQ(spans.back().stream, StreamId{1});
  EXPECT_EQ(spans.back().call, 1u);
}

TEST(ExecutionSpans, NeverOverlapInPartAndHoldEveryCallOnce) {
  for (const char* model : {"gpt2", "bert-base-uncased", "llama3.1-8b"}) {
    const Program program = build_step(
        *find_built_in_model(model),
        {.batch_size = 2, .seq_length = 16, .recompute = {.granularity = Recompute::Granularity::kFull}},
        {.micro_batches = 2});
    const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{1000});
    std::vector<const ExecutionSpan*> open;
    std::size_t calls = 0;
    const std::vector<ExecutionSpan> spans = spans_of(program, step);
    for (const ExecutionSpan& span : spans) {
      while (!open.empty() && open.back()->end <= span.start) open.pop_back();
      if (!open.empty()) {
        ASSERT_LE(open.back()->start, span.start);
        ASSERT_GE(open.back()->end, span.end) << open.back()->name << " is cut by " << span.name;
        ASSERT_NE(open.back()->kind, ExecutionSpan::Kind::kCall);
      }
      if (span.kind == ExecutionSpan::Kind::kCall) {
        EXPECT_EQ(span.call, calls++);
      }
      open.push_back(&span);
    }
    EXPECT_EQ(calls, step.kernels.size());
  }
}

TEST(ExecutionSpans, OfAStepWithoutCallsAreTheStep) {
  EXPECT_THAT(lines(spans_of(program_for_tests(), {.start = Nanoseconds{5}, .end = Nanoseconds{9}})),
              ElementsAre(" 5..9"));
}

}  // namespace
}  // namespace nadi::inline traces
