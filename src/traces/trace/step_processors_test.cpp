#include "nadi/trace/step_processors.h"

#include <gtest/gtest.h>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {
namespace {

TEST(StepProcessors, AreReadAsTheyWereWritten) {
  Trace trace;
  const ProcessorUse use{.elapsed = Nanoseconds{4000},
                         .stolen = Nanoseconds{10},
                         .busy = Nanoseconds{3900},
                         .own = Nanoseconds{3800}};
  for (std::uint64_t i = 0; i < 4; ++i) {
    TraceNode node;
    node.id = TraceNodeId{i};
    node.name = "n";
    node.attributes.add_int64("step", static_cast<std::int64_t>(7 + i / 2));
    if (i == 0) add_processor_use(use, node);
    if (i == 2) node.attributes.add_int64("processors_ns", 1);  // the others are missing
    trace.add(node);
  }
  const auto uses = processor_use_by_step(trace);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses.at(7), use);
}

}  // namespace
}  // namespace nadi::inline traces
