#include "nadi/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/base/error.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/base/json.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/model/catalogue.h"
#include "nadi/plan/device_runs.h"
#include "nadi/plan/plan_file_keys.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kWrittenPlan = R"({
  "nadi_plan": 1,
  "model": "gpt2-xl",
  "step": {"seq_length": 1024, "global_batch_size": 64, "micro_batch_size": 2, "dtype": "fp16",
           "attention": "unfused", "recompute": {"granularity": "full", "method": "block", "layers": 3},
           "optimizer": "sgd"},
  "plan": {"tp": 1, "dp": 4, "pp": 8, "zero": 1, "schedule": "gpipe",
           "partition": [0, 11, 8, 8, 8, 8, 5, 0]},
  "cluster": "a10-8x4",
  "devices": "4-31,0-3",
  "predicted": {"step_time": "1.43 s", "memory": "17 GiB", "cost": "0.031 $"}
})";

// The text with the first `from` replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string text(kWrittenPlan);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error problem_of(const std::string& text) {
  const auto error = error_of([&] { parse_plan_file(text, "plan.json"); });
  EXPECT_TRUE(error) << "read: " << text;
  return error.value_or(usage_error("none"));
}

TEST(PlanFileTest, ReadsEveryKey) {
  const PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  EXPECT_EQ(file.model, "gpt2-xl");
  EXPECT_EQ(file.seq_length, 1024);
  EXPECT_EQ(file.global_batch_size, 64);
  EXPECT_EQ(file.micro_batch_size, 2);
  EXPECT_EQ(file.dtype, DType::kF16);
  EXPECT_FALSE(file.fp8);
  EXPECT_FALSE(file.fused_attention);
  EXPECT_EQ(file.recompute.granularity, Recompute::Granularity::kFull);
  EXPECT_EQ(file.recompute.method, Recompute::Method::kBlock);
  EXPECT_EQ(file.recompute.layers, 3);
  EXPECT_EQ(file.optimizer, OptimizerKind::kSgd);
  EXPECT_EQ(file.plan.world_size(), 32);
  EXPECT_EQ(file.plan.zero_stage, 1);
  EXPECT_EQ(file.plan.schedule, ScheduleKind::kGPipe);
  EXPECT_EQ(file.plan.micro_batches, 8);  // 64 / 4 ranks / 2
  EXPECT_THAT(file.plan.partition, ElementsAre(0, 11, 8, 8, 8, 8, 5, 0));
  EXPECT_EQ(file.cluster, "a10-8x4");
  EXPECT_EQ(file.devices.size(), 32u);
  EXPECT_EQ(file.devices[0], DeviceId{4});
  EXPECT_EQ(file.devices[28], DeviceId{0});
  EXPECT_EQ(file.predicted.step_time, Nanoseconds{1'430'000'000});
  EXPECT_EQ(file.predicted.memory, 17_GiB);
  EXPECT_EQ(file.predicted.dollars, 0.031);
}

TEST(PlanFileTest, WhatIsLeftOutHasDefaults) {
  const PlanFile file = parse_plan_file(
      R"({"nadi_plan": 1, "model": "gpt2",
          "step": {"seq_length": 64, "global_batch_size": 6, "micro_batch_size": 2}})",
      "plan.json");
  EXPECT_EQ(file.plan.world_size(), 1);
  EXPECT_EQ(file.plan.micro_batches, 3);
  EXPECT_EQ(file.dtype, DType::kF32);
  EXPECT_TRUE(file.fused_attention);
  EXPECT_EQ(file.optimizer, OptimizerKind::kAdamW);
  EXPECT_TRUE(file.cluster.empty());
  EXPECT_TRUE(file.devices.empty());
  EXPECT_EQ(file.predicted, PlanPrediction{});
}

TEST(PlanFileTest, WrittenAndReadItIsTheSame) {
  const PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  const std::string text = plan_file_text(file, "plan.json");
  EXPECT_EQ(plan_file_text(parse_plan_file(text, "plan.json"), "plan.json"), text);
  EXPECT_THAT(text, HasSubstr("\"devices\": \"4-31,0-3\""));
  EXPECT_THAT(text, HasSubstr("\"step_time\": \"1.43 s\""));
  EXPECT_THAT(text, HasSubstr("\"cost\": \"0.031 $\""));
}

TEST(PlanFileTest, TimesAreWrittenExactly) {
  PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  for (const std::int64_t time :
       {0LL, 999'999LL, 1'000'000LL, 13'796'257LL, 1'000'000'001LL, 9'007'199'254'740'991LL}) {
    file.predicted.step_time = Nanoseconds{time};
    const std::string text = plan_file_text(file, "plan.json");
    EXPECT_EQ(parse_plan_file(text, "plan.json").predicted.step_time, Nanoseconds{time}) << text;
  }
  file.predicted.step_time = Nanoseconds{13'796'257};
  EXPECT_THAT(plan_file_text(file, "plan.json"), HasSubstr("\"13.796257 ms\""));
}

TEST(PlanFileTest, SaysWhatThePredictionAssumed) {
  PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  const ModelConfig& config = *find_built_in_model("gpt2-xl");
  // Nothing said: what a prediction assumes by itself.
  EXPECT_FALSE(assumed_options(file, config).overlap.reduce_after_backward);
  EXPECT_EQ(assumed_options(file, config).overlap.gradient_dtype, DType::kF16) << "computed in fp16";
  file.predicted.framework = "megatron-2022";
  file.predicted.gradient_dtype = DType::kF32;
  file.predicted.collective = "ring";
  const PlanFile again = parse_plan_file(plan_file_text(file, "plan.json"), "plan.json");
  EXPECT_EQ(again.predicted, file.predicted);
  const SimulationOptions options = assumed_options(again, config);
  EXPECT_TRUE(options.overlap.reduce_after_backward);
  EXPECT_EQ(options.overlap.gradient_dtype, DType::kF32);
  EXPECT_EQ(options.collective, CollectiveAlgorithm::kRing);
  file.predicted.layer_times = "tables/known.csv";
  EXPECT_THAT(plan_file_text(file, "plans/plan.json"), HasSubstr("\"layer_times\": \"../tables/known.csv\""));
}

TEST(PlanFileTest, AnErrorHasThePlaceTheValueAndTheNearestChoice) {
  struct Case {
    std::string text;
    std::string what;
    std::string hint;
  };
  const std::vector<Case> cases{
      {with("\"zero\"", "\"zeroo\""), "plan.json:7:39: unknown key 'zeroo'", "zero"},
      {with("\"dtype\"", "\"dtyp\""), "unknown key 'dtyp'", "dtype"},
      {with("\"model\"", "\"modell\""), "key 'modell'", "model"},
      {with("gpipe", "gpip"), "'plan.schedule' does not take 'gpip'", "gpipe"},
      {with("fp16", "fp17"), "'step.dtype' does not take 'fp17'", "fp16"},
      {with("\"sgd\"", "\"sdg\""), "'step.optimizer' does not take 'sdg'", "sgd"},
      {with("\"full\"", "\"none\""), "'step.recompute.method' goes with granularity full", ""},
      {with("\"zero\": 1", "\"zero\": 2"), "'plan.zero' must be from 0 to 1", ""},
      {with("\"dp\": 4", "\"dp\": 0"), "'plan.dp' must be from 1 to", ""},
      {with("\"dp\": 4", "\"dp\": 4.0"), "plan.dp", ""},
      {with("\"dp\": 4", "\"dp\": \"4\""), "plan.dp", ""},
      {with("\"dp\": 4", "\"dp\": 99999999999999999999"), "plan.dp", ""},
      {with("\"tp\": 1, \"dp\": 4", "\"tp\": 16777216, \"dp\": 16777216"), "the limit is 16777216", ""},
      {with("\"pp\": 8", "\"pp\": 9"), "'plan.partition' has 8 stages, and the plan has pp 9", ""},
      {with("[0, 11", "[-1, 11"), "'plan.partition[0]' must be from 0", ""},
      {with("64, \"micro", "63, \"micro"), "a global batch of 63 does not divide", "a multiple of 2 x 4"},
      {with("64, \"micro_batch_size\": 2", "64, \"micro_batch_size\": 1099511627776"), "does not divide", ""},
      {with("64, \"micro_batch_size\": 2", "1099511627776, \"micro_batch_size\": 1"), "the limit is 100000",
       ""},
      {with("1024", "0"), "'step.seq_length' must be from 1", ""},
      {with("4-31,0-3", "4-31,0-2"), "31 devices for the 32 ranks", ""},
      {with("4-31,0-3", "0-2000000000"), "more devices than the 32 ranks", ""},
      {with("4-31,0-3", "4-31,4-7"), "device 4 is named twice", ""},
      {with("4-31,0-3", "31-4,0-3"), "wrong order", ""},
      {with("4-31,0-3", "4-31;0-3"), "no list of devices", "0-3,8-11"},
      {with("4-31,0-3", "-4"), "no list of devices", ""},
      {with("4-31,0-3", ""), "no list of devices", ""},
      {with("4-31,0-3", "0-30,99999999999999999999"), "no list of devices", ""},
      {with("\"cluster\": \"a10-8x4\",", ""), "the key 'cluster' is missing", ""},
      {with("1.43 s", "1.43"), "no duration", "5 us"},
      {with("\"1.43 s\"", "1.43"), "must be a text with a unit", ""},
      {with("17 GiB", "17 GiBi"), "no size", "40 GiB"},
      {with("0.031 $", "0.031 EUR"), "no amount of US dollars", "0.031 $"},
      {with("0.031 $", "-1 $"), "no amount of US dollars", ""},
      {with("\"nadi_plan\": 1", "\"nadi_plan\": 2"), "version 2 of the format", "newer version"},
      {with("\"nadi_plan\": 1", "\"nadi_plan\": 0"), "there is no version 0", ""},
      {with("\"nadi_plan\": 1,", ""), "'nadi_plan' is missing", ""},
      {with("\"gpt2-xl\"", "\"\""), "'model' is empty", ""},
      {with("\"gpt2-xl\"", "7"), "model", ""},
      {"[]", "a plan is a JSON object", ""},
      {"", "plan.json", ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Error error = problem_of(one.text);
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "plan.json");
    EXPECT_THAT(error.what(), HasSubstr(one.what));
    EXPECT_THAT(error.hint(), HasSubstr(one.hint));
  }
}

TEST(PlanFileTest, EveryTruncationIsAnErrorOfTheFile) {
  for (std::size_t length = 0; length < kWrittenPlan.size(); ++length)
    EXPECT_EQ(problem_of(std::string(kWrittenPlan.substr(0, length))).kind(), ErrorKind::kInput) << length;
}

class PlanFolderTest : public FolderTest {};

TEST_F(PlanFolderTest, NothingIsOverwrittenUnlessAllowed) {
  const PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  write_plan_file(file, folder_.path() / "plan.json", Overwrite::kRefuse);
  EXPECT_EQ(read_plan_file(folder_.path() / "plan.json").devices, file.devices);
  const auto refused =
      error_of([&] { write_plan_file(file, folder_.path() / "plan.json", Overwrite::kRefuse); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind(), ErrorKind::kUsage);
  write_plan_file(file, folder_.path() / "plan.json", Overwrite::kAllow);
  EXPECT_EQ(entries(folder_.path()), 1);
}

TEST_F(PlanFolderTest, PathsAreRelativeToTheFile) {
  PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  const fs::path top = folder_.path();
  file.model = (top / "models" / "config.json").string();
  file.cluster = "here/cluster.json";
  // Absolute paths stay as they are; relative ones are those from the file.
  const std::string text = plan_file_text(file, "here/plans/plan.json");
  EXPECT_THAT(text, HasSubstr("\"model\": \"" + file.model + "\""));
  EXPECT_THAT(text, HasSubstr("\"cluster\": \"../cluster.json\""));
  EXPECT_EQ(parse_plan_file(text, "here/plans/plan.json").cluster, "here/cluster.json");
  EXPECT_EQ(parse_plan_file(text, "moved/plans/plan.json").cluster, "moved/cluster.json");
  // A path beside the file is no name of the catalogue; ASTRA-sim's files are several.
  file.cluster = "h100.json";
  EXPECT_THAT(plan_file_text(file, "plan.json"), HasSubstr("\"cluster\": \"./h100.json\""));
  file.cluster = "system.json,network.yml";
  const std::string astra = plan_file_text(file, "plans/plan.json");
  EXPECT_THAT(astra, HasSubstr("\"../system.json,../network.yml\""));
  EXPECT_EQ(parse_plan_file(astra, "plans/plan.json").cluster, file.cluster);
}

TEST_F(PlanFolderTest, AnotherFileIsNamedForWhatItIs) {
  write_text(folder_.path() / "config.json", R"({"model_type": "gpt2", "n_layer": 2})");
  const auto error = error_of([&] { read_plan_file(folder_.path() / "config.json"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("not a plan"));
}

TEST(PlanFileTest, APlanThatDoesNotFitItsModelIsAnErrorOfTheFile) {
  const ModelConfig& config = *find_built_in_model("gpt2-xl");
  check_plan_file(parse_plan_file(std::string(kWrittenPlan), "plan.json"), "plan.json", config);
  const auto misfit = [&](std::string_view from, std::string_view to) {
    const PlanFile file = parse_plan_file(with(from, to), "plan.json");
    const auto error = error_of([&] { check_plan_file(file, "plan.json", config); });
    EXPECT_TRUE(error) << to;
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    return std::string(error->what());
  };
  EXPECT_THAT(misfit("[0, 11", "[1, 11"),
              testing::AllOf(testing::StartsWith("plan.json: the plan does not fit gpt2-xl: "),
                             HasSubstr("49"), HasSubstr("48")));
  EXPECT_THAT(misfit("1024", "1025"), HasSubstr("1024"));
  EXPECT_THAT(misfit("\"layers\": 3", "\"layers\": 49"), HasSubstr("49"));
}

TEST(PlanFileTest, DevicesAreThoseOfTheCluster) {
  const Cluster cluster = load_cluster("a10-8x4");
  PlanFile file = parse_plan_file(std::string(kWrittenPlan), "plan.json");
  EXPECT_EQ(check_devices(file, "plan.json", cluster), file.devices);
  file.devices.clear();
  EXPECT_EQ(check_devices(file, "plan.json", cluster)[31], DeviceId{31});
  file = parse_plan_file(with("4-31,0-3", "4-32,0-2"), "plan.json");
  const auto outside = error_of([&] { check_devices(file, "plan.json", cluster); });
  ASSERT_TRUE(outside);
  EXPECT_STREQ(outside->what(), "plan.json: rank 28 is on device 32, and a10-8x4 has 32");
  const auto small = error_of([&] { check_devices(file, "plan.json", load_cluster("dgx-a100")); });
  ASSERT_TRUE(small);
  EXPECT_EQ(small->kind(), ErrorKind::kInput);
}

TEST(PlanFileTest, HoldsWhatASearchFound) {
  PlanQuestion question{.config = *find_built_in_model("gpt2-xl"), .cluster = load_cluster("a100x1-a10x7")};
  question.request.seq_length = 1024;
  question.request.dtype = DType::kF16;
  question.global_batch_size = 64;
  RankedPlan ranked;
  ranked.candidate.plan = {.dp = 4, .pp = 2, .zero_stage = 1, .micro_batches = 8, .partition = {20, 28}};
  ranked.candidate.micro_batch_size = 2;
  ranked.candidate.recompute.granularity = Recompute::Granularity::kSelective;
  ranked.candidate.nodes = {{.kind = 1, .count = 1, .devices = 4}, {.kind = 0, .count = 1, .devices = 4}};
  ranked.estimate.iteration = Nanoseconds{3'000'000'000};
  ranked.estimate.stages = {{.memory = 3_GiB}, {.memory = 5_GiB}};
  const PlanFile estimated = plan_file_of(question, ranked, {.model = "gpt2-xl", .cluster = "a100x1-a10x7"});
  EXPECT_EQ(estimated.predicted.step_time, ranked.estimate.iteration);
  ranked.simulated = Nanoseconds{2'000'000'000};
  const PlanFile file = plan_file_of(question, ranked, {.model = "gpt2-xl", .cluster = "a100x1-a10x7"});
  EXPECT_EQ(file.predicted.step_time, ranked.simulated);
  EXPECT_EQ(file.predicted.memory, 5_GiB);
  // Two seconds of a node at 32.77 and one at 9.77 dollars per hour.
  EXPECT_NEAR(file.predicted.dollars.value_or(0), (32.77 + 9.77) * 2 / 3600, 1e-12);
  EXPECT_EQ(device_runs_text(file.devices), "4-7,0-3");
  const PlanFile again = parse_plan_file(plan_file_text(file, "plan.json"), "plan.json");
  EXPECT_EQ(again.plan.partition, ranked.candidate.plan.partition);
  EXPECT_EQ(again.plan.micro_batches, 8);
  EXPECT_EQ(again.recompute.granularity, Recompute::Granularity::kSelective);
}

std::set<std::string> properties_of(const JsonValue& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.at("properties").items()) names.emplace(name);
  EXPECT_FALSE(object.at("additionalProperties").as_bool());
  return names;
}

template <typename Keys>
std::set<std::string> set_of(const Keys& keys) {
  std::set<std::string> names;
  for (const std::string_view key : keys) names.emplace(key);
  return names;
}

TEST(PlanSchema, HasTheKeysOfTheReader) {
  const JsonDocument document = parse_json(std::string(plan_schema()), "plan.schema.json");
  const JsonValue root = document.root(), parts = root.at("$defs");
  EXPECT_EQ(properties_of(root), set_of(kPlanFileKeys));
  EXPECT_EQ(properties_of(parts.at("step")), set_of(kPlanStepKeys));
  EXPECT_EQ(properties_of(parts.at("recompute")), set_of(kPlanRecomputeKeys));
  EXPECT_EQ(properties_of(parts.at("plan")), set_of(kPlanKeys));
  EXPECT_EQ(properties_of(parts.at("predicted")), set_of(kPlanPredictedKeys));
}

TEST(DeviceRuns, AreCompact) {
  std::vector<DeviceId> devices;
  for (std::int32_t i = 8192; i < 16384; ++i) devices.push_back(DeviceId{i});
  for (std::int32_t i = 0; i < 8192; ++i) devices.push_back(DeviceId{i});
  EXPECT_EQ(device_runs_text(devices), "8192-16383,0-8191");
  std::string problem;
  EXPECT_EQ(parse_device_runs("8192-16383,0-8191", 16384, problem), devices);
  EXPECT_EQ(parse_device_runs("5", 1, problem), std::vector{DeviceId{5}});
  EXPECT_EQ(device_runs_text(std::vector{DeviceId{3}, DeviceId{2}}), "3,2");
}

TEST(DeviceRuns, LinesNameNodesAndTheirDevices) {
  const Cluster cluster = load_cluster("a100x1-a10x7");
  std::string problem;
  const auto devices = parse_device_runs("4-31,0-1", 30, problem);
  ASSERT_TRUE(devices) << problem;
  const std::vector<std::string> lines = placement_lines(cluster, *devices);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::AllOf(testing::StartsWith("ranks 0-27 on nodes 1-7 ("),
                                       HasSubstr("4 of 4 x a10 each")));
  EXPECT_THAT(lines[1],
              testing::AllOf(testing::StartsWith("ranks 28-29 on node 0 ("), HasSubstr("2 of 4 x a100")));
}

}  // namespace
}  // namespace nadi::inline predict
