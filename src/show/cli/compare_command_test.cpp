#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

TEST(Compare, LaysARunBesideItsPrediction) {
  const WorkingFolder folder;
  ASSERT_EQ(run("train gpt2-tiny --max-seq-length 64 --batch-size 1 --max-steps 4 --skip-eval --threads 1 "
                "--enable-tracing --trace-active 2")
                .code,
            0);
  ASSERT_EQ(run("calibrate --quick --patience 0 --model gpt2-tiny --ranks 1 --threads 1 -o me.json").code, 0);
  const std::string compare = "compare outputs/gpt2-tiny_trace.et --cluster me.json";
  const CliRun done = run(compare + " --timeline cmp.html");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("iteration   measured "));
  EXPECT_THAT(done.out, HasSubstr("single ops  median error "));
  EXPECT_THAT(read_text("cmp.html"), HasSubstr("predicted"));

  const Json compared = run_json(compare);
  EXPECT_GT(compared["predicted_iteration_s"], 0);
  EXPECT_GT(compared["compared_nodes"], 100);
  EXPECT_EQ(compared["nodes_without_work"], 0);
  EXPECT_EQ(compared["times_modelled"], 0);
  EXPECT_EQ(compared["steps"].get<int>() + compared["steps_left_out"].get<int>(), 2);
  EXPECT_EQ(run_json(compare + " --all-steps")["steps"], 2);
  double measured = 0;
  for (const Json& kind : compared["kinds"]) measured += kind["measured_ns"].get<double>() * 1e-9;
  EXPECT_NEAR(measured, compared["computed_measured_s"].get<double>(), 1e-6);
}

TEST(Compare, NeedsTimesAndACluster) {
  const WorkingFolder folder;
  ASSERT_EQ(run("trace gpt2 --seq-length 8 --batch-size 1 -o dry").code, 0);
  EXPECT_THAT(run("compare dry.0.et").err, HasSubstr("--cluster is missing"));
  const CliRun without_times = run("compare dry.0.et --cluster h200");
  EXPECT_NE(without_times.code, 0);
  EXPECT_EQ(run("compare absent.et --cluster dgx-h100x2").code, 3);
  const CliRun dry = run("compare dry.0.et --cluster dgx-h100x2");
  EXPECT_EQ(dry.code, 3);
  EXPECT_THAT(dry.err, HasSubstr("the trace has no times"));
}

}  // namespace
}  // namespace nadi::inline show
