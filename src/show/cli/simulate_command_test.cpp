#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

double iteration(const std::string& line) {
  return run_json("simulate " + line)["iteration_time_s"];
}

TEST(Simulate, TellsTimeThroughputMemoryAndCost) {
  const Json result = run_json("simulate gpt2 --dtype bf16 --seq-length 64 --dp 8 --cluster aws-p4d");
  EXPECT_EQ(result.begin().key(), "iteration_time_s");
  const double seconds = result["iteration_time_s"];
  EXPECT_GT(seconds, 0);
  EXPECT_DOUBLE_EQ(result["samples_per_s"], 8 / seconds);
  EXPECT_DOUBLE_EQ(result["tokens_per_s"], 8 * 64 / seconds);
  EXPECT_GT(result["model_flops_utilization"], 0);
  EXPECT_LT(result["model_flops_utilization"], 1);
  EXPECT_DOUBLE_EQ(result["cost"]["dollars_per_hour"], 32.77);
  EXPECT_DOUBLE_EQ(result["cost"]["dollars_per_step"], 32.77 / 3600 * seconds);
  EXPECT_DOUBLE_EQ(result["energy"]["watts"], 8 * 400);
  EXPECT_EQ(result["fullest_memory"]["fits"], true);
}

TEST(Simulate, ARowAddsUpToTheIteration) {
  const Json result = run_json(
      "simulate gpt2-tiny --seq-length 32 --pp 2 --dp 2 --global-batch-size 8 "
      "--micro-batch-size 1 --cluster a10-8x4");
  const auto nanoseconds = static_cast<std::int64_t>(result["iteration_time_s"].get<double>() * 1e9 + 0.5);
  for (const Json& row : result["ranks"]) {
    std::int64_t sum = 0;
    for (const char* key : {"forward_ns", "recompute_ns", "backward_ns", "optimizer_ns", "host_ns",
                            "exposed_communication_ns", "bubble_ns"})
      sum += row[key].get<std::int64_t>();
    EXPECT_EQ(sum, nanoseconds) << row["ranks"];
  }
}

TEST(Simulate, RunsAStepAsItsFrameworkDoes) {
  const std::string line =
      "simulate gpt2-tiny --seq-length 32 --pp 2 --global-batch-size 4 --micro-batch-size 1 --cluster ";
  const Json nadi = run_json(line + "dgx-h100");
  EXPECT_EQ(nadi["framework"], "nadi");
  EXPECT_EQ(nadi["step"]["attention"], "fused");
  const Json megatron = run_json(line + "dgx-h100 --framework megatron-2022");
  EXPECT_EQ(megatron["framework"], "megatron-2022");
  EXPECT_EQ(megatron["step"]["attention"], "unfused");
  EXPECT_LT(nadi["iteration_time_s"], megatron["iteration_time_s"]);
  EXPECT_THAT(run(line + "dgx-h100 --framework megatron-2022").out,
              HasSubstr("trained by    megatron-2022:"));
  EXPECT_EQ(run("simulate gpt2 --step prefill --cluster h100 --framework nadi").code, 2);
}

TEST(Simulate, TakesTheAttentionThatRunsOnTheCluster) {
  const std::string line = "simulate gpt2-tiny --seq-length 32 --cluster a10-8x4 ";
  EXPECT_EQ(run_json(line)["step"]["attention"], "unfused");
  EXPECT_EQ(run_json(line + "--attention fused")["step"]["attention"], "fused");
  EXPECT_EQ(run_json(line + "--framework nadi"), run_json(line)) << "the default, typed";
  EXPECT_EQ(run_json(line + "--framework megatron-2022 --attention fused")["step"]["attention"], "fused");
  EXPECT_EQ(run_json(line)["assumed"]["attention_from"], "cluster");
  EXPECT_THAT(run(line).out, HasSubstr("unfused attention"));
}

TEST(Simulate, SaysWhenStagesHaveTooFewMicroBatches) {
  const std::string line = "simulate gpt2-tiny --seq-length 32 --pp 2 --cluster dgx-h100 ";
  EXPECT_THAT(run(line).err, HasSubstr("1 micro-batch for 2 stages"));
  EXPECT_THAT(run(line + "--global-batch-size 4 --micro-batch-size 1").err, Not(HasSubstr("micro-batch")));
}

TEST(Simulate, NamesWhereConstantsOfTheModelComeFrom) {
  const Json result = run_json("simulate gpt2-tiny --seq-length 32 --cluster a10");
  EXPECT_EQ(result["model_constants"][0]["device"], "a10");
  EXPECT_THAT(result["model_constants"][0]["source"], HasSubstr("fitted for the A100"));
  EXPECT_THAT(run("simulate gpt2-tiny --seq-length 32 --cluster a10").out,
              HasSubstr("constants of a10: none measured"));
}

TEST(Simulate, GradientsAreReducedInTheTypeThatIsAskedFor) {
  const auto bytes = [](const std::string& flags) {
    const Json result = run_json("simulate gpt2-tiny --seq-length 16 --dp 2 --cluster dgx-h100 " + flags);
    for (const Json& row : result["communication"])
      if (row["group"] == "dp") return row["bytes"].get<std::int64_t>();
    return std::int64_t{0};
  };
  EXPECT_EQ(run_json("simulate gpt2-tiny --seq-length 16 --cluster h100")["step"]["dtype"], "fp16");
  EXPECT_EQ(run_json("simulate gpt2-tiny --seq-length 16 --cluster epyc-7763")["step"]["dtype"], "fp32");
  EXPECT_GT(bytes(""), 0);
  EXPECT_EQ(bytes(""), bytes("--dtype bf16 --grad-reduce-dtype bf16"));
  // The loss, four bytes, is no gradient.
  EXPECT_EQ(2 * (bytes("") - 4), bytes("--dtype bf16") - 4);
  EXPECT_EQ(2 * (bytes("") - 4), bytes("--dtype fp32") - 4);
  EXPECT_EQ(run("simulate gpt2 --step prefill --cluster h100 --grad-reduce-dtype bf16").code, 2);
}

TEST(Simulate, SymmetryChangesNothing) {
  const std::string line = "gpt2-tiny --seq-length 32 --tp 2 --dp 2 --pp 2 --cluster dgx-a100 ";
  EXPECT_EQ(iteration(line), iteration(line + "--no-symmetry"));
}

TEST(Simulate, HwConfigIsTheSameAsCluster) {
  EXPECT_EQ(iteration("gpt2-tiny --seq-length 8 --cluster h100"),
            iteration("gpt2-tiny --seq-length 8 --hw-config h100"));
}

TEST(Simulate, WhatIfComparesWithTheBase) {
  const std::string line = "gpt2-tiny --seq-length 64 --batch-size 64 --dp 8 --cluster a10-8x4 ";
  const Json result = run_json("simulate " + line +
                               "--what-if link.ethernet.bandwidth=10x --what-if device.a10.matrix_peak=0.1x");
  ASSERT_EQ(result["what_if"].size(), 2u);
  EXPECT_LT(result["what_if"][0]["change_of_time"], 0);
  EXPECT_GT(result["what_if"][1]["change_of_time"], 0);
  const CliRun wrong = run("simulate " + line + "--what-if link.nvlink.bandwidth=2x");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("known: pcie, inside, ethernet, nodes"));
}

TEST(Simulate, AStragglerCostsTime) {
  const std::string line = "gpt2-tiny --seq-length 64 --batch-size 16 --dp 4 --cluster dgx-h100 ";
  EXPECT_GT(iteration(line + "--slow rank=3:2x"), iteration(line));
  EXPECT_EQ(iteration(line + "--jitter 0.1 --seed 7"), iteration(line + "--jitter 0.1 --seed 7"));
  EXPECT_NE(iteration(line + "--jitter 0.1 --seed 7"), iteration(line + "--jitter 0.1 --seed 8"));
  EXPECT_EQ(run("simulate " + line + "--slow rank=4:2x").code, 2);
  EXPECT_EQ(run("simulate " + line + "--seed 7").code, 2);
}

TEST(Simulate, SaysTheErrorOfAMeasuredTime) {
  const CliRun done = run("simulate gpt2-tiny --seq-length 8 --cluster h100 --measured 1h");
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(run("simulate gpt2-tiny --seq-length 8 --cluster h100 --measured 100s").out,
              HasSubstr("predicted is 100.0% shorter"));
}

TEST(Simulate, NamesRankMomentAndContentWhereMemoryDoesNotSuffice) {
  const CliRun done = run("simulate gpt2-xl --seq-length 1024 --batch-size 4 --cluster t4");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("out of memory: rank 0 needs"));
}

TEST(Simulate, RefusesWhatCannotBe) {
  EXPECT_EQ(run("simulate gpt2").code, 2);
  EXPECT_EQ(run("simulate").code, 2);
  EXPECT_EQ(run("simulate gpt2 --dp 9 --cluster dgx-h100").code, 5);
  const CliRun typo = run("simulate gpt2 --cluster dgx-h10");
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'dgx-h100'"));
}

TEST(Simulate, WritesTracesAndATimelineThatGiveTheSameTimeAgain) {
  const WorkingFolder folder;
  const std::string line = "simulate gpt2-tiny --seq-length 16 --dp 2 --dtype fp32 --cluster dgx-h100 ";
  const CliRun done = run(line + "--et-out predicted --timeline t.html");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("2 predicted traces: predicted.0.et, ..."));
  EXPECT_NE(run(line + "--et-out predicted").code, 0) << "the files exist";
  EXPECT_NE(run(line + "--timeline t.html").code, 0);
  EXPECT_EQ(run(line + "--et-out predicted --timeline t.html --force").code, 0);
  EXPECT_EQ(run(line + "--timeline t.svg").code, 2);
  EXPECT_EQ(run("check 'predicted.*.et'").code, 0);
  EXPECT_EQ(iteration("'predicted.*.et' --durations model --cluster dgx-h100"),
            iteration("gpt2-tiny --seq-length 16 --dp 2 --dtype fp32 --cluster dgx-h100"));
}

// A prediction reads like the trace of a run: a GPU, a step with its batch, and a bubble.
TEST(Simulate, PredictedTracesSayWhatTheyAre) {
  const WorkingFolder folder;
  ASSERT_EQ(run("simulate gpt2 --pp 4 --global-batch-size 4 --micro-batch-size 1 --seq-length 64 "
                "--cluster dgx-a100 --et-out predicted")
                .code,
            0);
  const Json analysis = run_json("analyze predicted");
  EXPECT_EQ(analysis["verdict"]["device"], "GPU");
  EXPECT_EQ(analysis["ranks"][0]["steps"], Json::array({0}));
  EXPECT_EQ(analysis["headline"]["samples_per_step"], 4);
  const Json& all = analysis["tables"]["breakdown"][0];
  EXPECT_GT(all["late_message_share"].get<double>(), 0.1);  // the bubble
  EXPECT_LT(all["idle_share"].get<double>(), all["late_message_share"].get<double>());
  const std::string shown = run("show predicted.3.et --json").out;
  EXPECT_THAT(shown, HasSubstr("\"stage\""));
  EXPECT_THAT(shown, HasSubstr("\"schedule\""));
}

TEST(Simulate, TracesOnOtherHardwareAndMoreRanks) {
  const WorkingFolder folder;
  ASSERT_EQ(run("trace gpt2-tiny --seq-length 16 --dp 2 --dtype fp32 -o dry").code, 0);
  const double two = iteration("dry --cluster dgx-h100");
  EXPECT_EQ(two, iteration("gpt2-tiny --seq-length 16 --dp 2 --dtype fp32 --cluster dgx-h100"));
  EXPECT_NE(two, iteration("dry --cluster aws-g4dn"));
  EXPECT_EQ(run("simulate dry.0.et --dp 2 --cluster h100").code, 2);
  EXPECT_EQ(run("simulate dry.0.et --cluster dgx-h100 --recorded-on h10").code, 2);
  EXPECT_EQ(run("simulate gpt2-tiny --ranks 2 --cluster h100").code, 2);
}

TEST(Simulate, TakesMeasuredTimesOfLayers) {
  const WorkingFolder folder;
  std::string table = "file,all_values\ngpt2_A10_1.npy,0.001";
  for (int layer = 0; layer < 12; ++layer) table += " 0.01";
  write_text("table.csv", table + " 0.005\n");
  const std::string line = "simulate gpt2 --seq-length 16 --cluster a10 --layer-times table.csv ";
  const Json result = run_json(line);
  EXPECT_NEAR(result["ranks"][0]["forward_ns"].get<double>(), 126e6, 100);
  EXPECT_NEAR(result["ranks"][0]["backward_ns"].get<double>(), 252e6, 100);
  EXPECT_GT(result["time_sources"]["given"], 0);
  EXPECT_THAT(run(line + "--measured 340ms").out, HasSubstr("too long by about 1"));
  EXPECT_NE(run("simulate gpt2 --seq-length 16 --cluster h100 --layer-times table.csv").code, 0);
}

TEST(Clusters, AreListedShownAndDescribed) {
  EXPECT_THAT(run("clusters").out, HasSubstr("a100x1-a10x7"));
  EXPECT_THAT(run("clusters dgx-h100x4").out, HasSubstr("NVIDIA H100 data sheet"));
  const Json file = run_json("clusters a10-8x4");
  EXPECT_EQ(file["nodes"][0]["count"], 8);
  EXPECT_EQ(Json::parse(run("clusters --schema").out)["title"], "Nadi cluster");
  EXPECT_EQ(run("clusters --schema a10-8x4").code, 2);
  EXPECT_EQ(run("clusters none").code, 2);
}

TEST(Clusters, HwConfigOfARunPrintsThePrediction) {
  const WorkingFolder folder;
  const CliRun trained =
      run("train gpt2-tiny --batch-size 1 --max-seq-length 8 --max-steps 2 --skip-eval "
          "--threads 1 --hw-config h100");
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("predicted on h100: "));
  const CliRun made =
      run("generate gpt2-tiny --num-input-tokens 4 --num-output-tokens 3 --threads 1 --hw-config h100");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("per token of a batch; here "));
}

}  // namespace
}  // namespace nadi::inline show
