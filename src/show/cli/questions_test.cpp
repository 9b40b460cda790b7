// The library and the command line give the same answer to the same question: every figure of the JSON, also with every
// default written out, in words and in fields.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/prediction/simulation_question.h"
#include "nadi/report/answers_json.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/step/step_answer.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline show {
namespace {

// As a program that links the library gets it.
template <typename Answer>
Json json_of(const Answer& answer) {
  return Json::parse(to_json(answer));
}

// A question in words, what the command line takes for each default of it, and the question as fields.
template <typename Question>
struct Asked {
  std::string words;
  std::string typed;  // besides those of kTyped...
  Question question;
};

// Earlier words yield to later ones: defaults stand before what a question says.
constexpr std::string_view kTypedTraining =
    "--step train --attention fused --recompute none --optimizer adamw --weight-decay 0.01 --max-grad-norm 1 "
    "--tp 1 --cp 1 --dp 1 --pp 1 --zero 0 --schedule 1f1b --virtual-stages 1 ";
constexpr std::string_view kTypedSimulation =
    "--network analytical --collective auto --framework nadi --jitter 0 --seed 1 ";
constexpr std::string_view kTypedPlanning =
    "--objective time --memory-share 0.95 --collective auto --framework nadi --optimizer adamw "
    "--weight-decay 0.01 "
    "--max-grad-norm 1 --effort 1 --top 10 ";

// Where a figure comes from is not a figure: what was typed was asked for.
Json figures(Json answer) {
  if (answer.contains("assumed"))
    for (const char* key : {"attention_from", "dtype_from"}) answer["assumed"].erase(key);
  if (answer.contains("step")) answer["step"].erase("dropout");
  return answer;
}

// Every optional field with the value that the answer has for it.
StepQuestion with_all_fields(const ResolvedStep& step) {
  StepQuestion question = step.question;
  const StepRequest& request = step.request;
  question.dtype = request.dtype;
  question.fused_attention = request.fused_attention;
  if (!question.global_batch_size) question.batch_size = request.batch_size;
  switch (request.kind) {
    case StepKind::kTrain:
      question.micro_batch_size = request.batch_size / step.plan.micro_batches;
      [[fallthrough]];
    case StepKind::kEvaluate:
      question.seq_length = request.seq_length;
      break;
    case StepKind::kGenerate:
      question.output_tokens = request.output_tokens;
      [[fallthrough]];
    case StepKind::kPrefill:
    case StepKind::kDecode:
      question.input_tokens = request.input_tokens;
      break;
  }
  return question;
}

PredictionQuestion with_all_fields(PredictionQuestion on, const PredictionAssumptions& assumed) {
  if (assumed.framework != nullptr) on.framework = assumed.framework->name;
  on.gradient_dtype = assumed.overlap.gradient_dtype;
  return on;
}

std::string command(std::string_view name, std::string_view model, std::string_view typed,
                    std::string_view words) {
  return format("{} {} {} {}", name, model, typed, words);
}

std::vector<Asked<RankQuestion>> rank_questions() {
  return {
      {"",
       "--batch-size 1 --micro-batch-size 1 --seq-length 1024 --dtype fp16 --rank 0",
       {.step = {.model = "gpt2"}}},
      {"--batch-size 4 --seq-length 512",
       "--dtype fp16",
       {.step = {.model = "gpt2", .batch_size = 4, .seq_length = 512}}},
      {"--dtype bf16 --fp8",
       "--seq-length 2048",
       {.step = {.model = "llama3.1-8b", .dtype = DType::kBF16, .fp8 = true}}},
      {"--dp 4 --pp 8 --partition 0-11-8-8-8-8-5-0 --global-batch-size 64 --micro-batch-size 1 --rank 7",
       "--seq-length 1024 --dtype fp16",
       {.step = {.model = "gpt2-xl",
                 .plan = {.dp = 4, .pp = 8, .partition = {0, 11, 8, 8, 8, 8, 5, 0}},
                 .global_batch_size = 64,
                 .micro_batch_size = 1},
        .rank = 7}},
      {"--tp 2 --sequence-parallel --zero 1 --dp 2",
       "--dtype fp16",
       {.step = {.model = "llama-tiny",
                 .plan = {.tp = 2, .dp = 2, .sequence_parallel = true, .zero_stage = 1}}}},
      {"--cp 2 --rank 1", "--dtype fp16", {.step = {.model = "llama-tiny", .plan = {.cp = 2}}, .rank = 1}},
      {"--pp 2 --schedule interleaved --virtual-stages 2 --global-batch-size 8 --micro-batch-size 1",
       "--dtype fp16",
       {.step = {.model = "gpt2",
                 .plan = {.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2},
                 .global_batch_size = 8,
                 .micro_batch_size = 1}}},
      {"--pp 3 --schedule gpipe --batch-size 6 --micro-batch-size 2 --rank 2",
       "--dtype fp16",
       {.step = {.model = "gpt2",
                 .plan = {.pp = 3, .schedule = ScheduleKind::kGPipe},
                 .batch_size = 6,
                 .micro_batch_size = 2},
        .rank = 2}},
      {"--recompute full --recompute-method block --recompute-num-layers 3",
       "--dtype fp16",
       {.step = {.model = "gpt2",
                 .recompute = {.granularity = Recompute::Granularity::kFull,
                               .method = Recompute::Method::kBlock,
                               .layers = 3}}}},
      {"--attention unfused --recompute selective",
       "--dtype fp16",
       {.step = {.model = "gpt2",
                 .fused_attention = false,
                 .recompute = {.granularity = Recompute::Granularity::kSelective}}}},
      {"--optimizer sgd --max-grad-norm 0",
       "--dtype fp16",
       {.step = {.model = "bert-base-uncased",
                 .optimizer = {.kind = OptimizerKind::kSgd, .max_grad_norm = 0}}}},
      {"--dropout 0.3", "--dtype fp16", {.step = {.model = "gpt2-tiny", .dropout = 0.3}}},
      {"--device cpu", "--dtype fp32", {.step = {.model = "gpt2-tiny"}, .device = "cpu"}},
      {"--device cuda --deterministic",
       "--dtype fp16",
       {.step = {.model = "gpt2-tiny"}, .device = "cuda", .deterministic = true}},
      {"--dtype fp32", "--seq-length 256", {.step = {.model = "mistral-tiny", .dtype = DType::kF32}}},
  };
}

// The flags of training do not go with these.
std::vector<Asked<RankQuestion>> other_steps() {
  return {
      {"--step evaluate",
       "--batch-size 1 --seq-length 1024 --dtype fp16",
       {.step = {.model = "gpt2", .kind = StepKind::kEvaluate}}},
      {"--step prefill",
       "--num-input-tokens 128 --dtype fp16 --attention fused",
       {.step = {.model = "gpt2", .kind = StepKind::kPrefill}}},
      {"--step decode --tp 2 --batch-size 3",
       "--num-input-tokens 128 --dtype fp16",
       {.step = {.model = "gpt2", .kind = StepKind::kDecode, .plan = {.tp = 2}, .batch_size = 3}}},
      {"--step generate",
       "--num-input-tokens 128 --num-output-tokens 32 --dtype fp16",
       {.step = {.model = "llama3.1-8b", .kind = StepKind::kGenerate}}},
      {"--step generate --num-output-tokens 20 --tp 8",
       "--num-input-tokens 128 --dtype fp16",
       {.step = {.model = "gpt3-175b", .kind = StepKind::kGenerate, .plan = {.tp = 8}, .output_tokens = 20}}},
  };
}

void expect_same_step(const Asked<RankQuestion>& asked, std::string_view typed) {
  SCOPED_TRACE(asked.question.step.model + " " + asked.words);
  const std::string& model = asked.question.step.model;
  const StepAnswer answer = describe_step(asked.question);
  const Json expected = json_of(answer);
  EXPECT_EQ(run_json(command("show", model, "", asked.words)), expected);
  EXPECT_EQ(figures(run_json(command("show", model, format("{}{}", typed, asked.typed), asked.words))),
            figures(expected));
  RankQuestion full = asked.question;
  full.step = with_all_fields(answer.step);
  EXPECT_EQ(json_of(describe_step(full)), expected);
}

TEST(Questions, AStepIsTheSameInWordsAndInFields) {
  for (const Asked<RankQuestion>& asked : rank_questions()) expect_same_step(asked, kTypedTraining);
  for (const Asked<RankQuestion>& asked : other_steps()) expect_same_step(asked, "");
}

std::vector<Asked<SimulationQuestion>> simulation_questions() {
  const StepQuestion tiny{.model = "gpt2-tiny"};
  const StepQuestion xl{.model = "gpt2-xl",
                        .plan = {.dp = 4, .pp = 8, .partition = {0, 11, 8, 8, 8, 8, 5, 0}},
                        .global_batch_size = 64,
                        .micro_batch_size = 1};
  const std::string xl_words =
      "--dp 4 --pp 8 --partition 0-11-8-8-8-8-5-0 --global-batch-size 64 --micro-batch-size 1 --cluster "
      "a10-8x4 ";
  const std::string fp16 = "--dtype fp16 --grad-reduce-dtype fp16 ";
  const StepQuestion split{.model = "gpt2-tiny",
                           .plan = {.tp = 2, .dp = 2, .pp = 2},
                           .global_batch_size = 8,
                           .micro_batch_size = 1};
  const std::string split_words = "--tp 2 --dp 2 --pp 2 --global-batch-size 8 --micro-batch-size 1 ";
  StepQuestion bf16 = split, fused = xl, fp32 = split, zero = split;
  bf16.dtype = DType::kBF16;
  fused.fused_attention = true;
  fp32.dtype = DType::kF32;
  zero.plan.zero_stage = 1;
  return {
      {xl_words, fp16 + "--attention unfused", {.step = xl, .on = {.cluster = "a10-8x4"}}},
      {xl_words + "--attention fused", fp16, {.step = fused, .on = {.cluster = "a10-8x4"}}},
      {xl_words + "--framework megatron-2021",
       fp16 + "--attention unfused",
       {.step = xl, .on = {.cluster = "a10-8x4", .framework = "megatron-2021"}}},
      {xl_words + "--framework megatron-2022",
       fp16 + "--attention unfused",
       {.step = xl, .on = {.cluster = "a10-8x4", .framework = "megatron-2022"}}},
      {"--cluster h100", fp16 + "--seq-length 1024", {.step = {.model = "gpt2"}, .on = {.cluster = "h100"}}},
      {"--cluster epyc-7763",
       "--dtype fp32 --grad-reduce-dtype fp32",
       {.step = tiny, .on = {.cluster = "epyc-7763"}}},
      {split_words + "--cluster dgx-a100", fp16, {.step = split, .on = {.cluster = "dgx-a100"}}},
      {split_words + "--cluster dgx-a100 --dtype bf16",
       "--grad-reduce-dtype fp32",
       {.step = bf16, .on = {.cluster = "dgx-a100"}}},
      {split_words + "--cluster dgx-a100 --dtype fp32",
       "--grad-reduce-dtype fp32",
       {.step = fp32, .on = {.cluster = "dgx-a100"}}},
      {split_words + "--cluster dgx-a100 --grad-reduce-dtype fp32",
       "--dtype fp16",
       {.step = split, .on = {.cluster = "dgx-a100", .gradient_dtype = DType::kF32}}},
      {split_words + "--cluster dgx-a100 --zero 1", fp16, {.step = zero, .on = {.cluster = "dgx-a100"}}},
      {split_words + "--cluster a10-8x4 --collective ring",
       fp16 + "--attention unfused",
       {.step = split, .on = {.cluster = "a10-8x4", .collective = CollectiveAlgorithm::kRing}}},
      {split_words + "--cluster a10-8x4 --network flow",
       fp16 + "--attention unfused",
       {.step = split, .on = {.cluster = "a10-8x4"}, .conditions = {.network = NetworkDetail::kFlow}}},
      {split_words + "--cluster dgx-a100 --slow rank=3:1.5x",
       fp16,
       {.step = split,
        .on = {.cluster = "dgx-a100"},
        .conditions = {.slow = {{.rank = Rank{3}, .factor = 1.5}}}}},
      {split_words + "--cluster dgx-a100 --jitter 0.05 --seed 7",
       fp16,
       {.step = split,
        .on = {.cluster = "dgx-a100"},
        .conditions = {.jitter = {.deviation = 0.05, .seed = 7}}}},
      {split_words + "--cluster dgx-a100 --no-symmetry",
       fp16,
       {.step = split, .on = {.cluster = "dgx-a100"}, .conditions = {.symmetry = false}}},
      {split_words + "--cluster dgx-a100x2 --fail-link node1.up:0.5x",
       fp16,
       {.step = split,
        .on = {.cluster = "dgx-a100x2"},
        .conditions = {.faults = {{.link = "node1.up", .factor = 0.5}}}}},
      {split_words + "--cluster dgx-a100 --what-if link.nvswitch.bandwidth=2x",
       fp16,
       {.step = split,
        .on = {.cluster = "dgx-a100"},
        .conditions = {.what_if = {"link.nvswitch.bandwidth=2x"}}}},
      {"--cluster t4", fp16, {.step = {.model = "gpt2"}, .on = {.cluster = "t4"}}},
      {"--cluster dgx-h100", fp16, {.step = {.model = "bert-tiny"}, .on = {.cluster = "dgx-h100"}}},
  };
}

TEST(Questions, ASimulationIsTheSameInWordsAndInFields) {
  for (const Asked<SimulationQuestion>& asked : simulation_questions()) {
    const std::string& model = asked.question.step.model;
    SCOPED_TRACE(model + " " + asked.words);
    const SimulationAnswer answer = simulate(asked.question);
    const Json expected = json_of(answer);
    EXPECT_EQ(run_json(command("simulate", model, "", asked.words)), expected);
    const std::string typed = format("{}{}{}", kTypedTraining, kTypedSimulation, asked.typed);
    EXPECT_EQ(figures(run_json(command("simulate", model, typed, asked.words))), figures(expected));
    SimulationQuestion full = asked.question;
    full.step = with_all_fields(answer.asked.step);
    full.on = with_all_fields(full.on, answer.asked.assumed);
    EXPECT_EQ(figures(json_of(simulate(full))), figures(expected));
  }
}

TEST(Questions, AStepThatDoesNotTrainHasNoFramework) {
  const SimulationQuestion question{.step = {.model = "gpt2", .kind = StepKind::kPrefill},
                                    .on = {.cluster = "h100"}};
  const SimulationAnswer answer = simulate(question);
  EXPECT_EQ(answer.asked.assumed.framework, nullptr);
  EXPECT_EQ(run_json("simulate gpt2 --step prefill --cluster h100"), json_of(answer));
  EXPECT_EQ(
      figures(run_json("simulate gpt2 --step prefill --num-input-tokens 128 --dtype fp16 --cluster h100")),
      figures(json_of(answer)));
}

TEST(Questions, TracesAreTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  ASSERT_EQ(run("trace gpt2-tiny --seq-length 16 --dp 2 -o dry").code, 0);
  const TraceSet set = read_trace_set(expand_traces(std::vector<std::string>{"dry"}), {});
  const auto expect_same = [&](const std::string& words, const TraceSimulationQuestion& question) {
    SCOPED_TRACE(words);
    const TraceSimulationAnswer answer = simulate(set, question);
    EXPECT_EQ(run_json("simulate dry " + words), json_of(answer));
  };
  expect_same("--cluster dgx-h100", {.on = {.cluster = "dgx-h100"}});
  expect_same("--cluster dgx-h100 --network analytical --collective auto --durations recorded",
              {.on = {.cluster = "dgx-h100"}});
  expect_same("--cluster dgx-h100 --durations model",
              {.on = {.cluster = "dgx-h100"}, .durations = TraceDurations::kModel});
  expect_same("--cluster dgx-h100 --ranks 4", {.on = {.cluster = "dgx-h100"}, .ranks = 4});
  expect_same("--cluster aws-g4dn --recorded-on h100",
              {.on = {.cluster = "aws-g4dn"}, .recorded_on = "h100"});
}

// Four layers, four heads.
constexpr std::string_view kAskedModel = R"({
  "model_type": "gpt2", "vocab_size": 512, "n_positions": 64, "n_embd": 64, "n_layer": 4, "n_head": 4
})";
constexpr std::string_view kAskedFleet =
    R"({"cluster": "a10-8x4", "nodes": {"g5.24xlarge": {"fewest": 1, "most": 2}}})";

std::vector<Asked<PlanningQuestion>> planning_questions() {
  const StepQuestion step{.model = "four.json", .global_batch_size = 8};
  const std::string words = "--global-batch-size 8 --schedule 1f1b --threads 1 ";
  const std::string fp16 = "--dtype fp16 --grad-reduce-dtype fp16 --seq-length 64 ";
  const PlanSpace space{.schedules = {ScheduleKind::k1F1B}};
  PlanSpace tp1 = space, even = space, pp2 = space;
  tp1.tp = {1};
  tp1.micro_batch_sizes = {1, 2};
  even.uneven_partitions = false;
  even.unused_devices = false;
  pp2.pp = {2};
  pp2.partition = {1, 3};
  StepQuestion fused = step, sgd = step;
  fused.fused_attention = true;
  sgd.optimizer.kind = OptimizerKind::kSgd;
  const auto on = [](const char* cluster) { return PredictionQuestion{.cluster = cluster}; };
  const std::string unfused = fp16 + "--attention unfused ", a10 = words + "--cluster a10 ";
  const std::string dgx = words + "--cluster dgx-a100 ", fast = fp16 + "--attention fused ";
  return {
      {a10, fast, {.step = step, .on = on("a10"), .space = space}},
      {dgx, fast, {.step = step, .on = on("dgx-a100"), .space = space}},
      {dgx + "--objective cost",
       fast,
       {.step = step, .on = on("dgx-a100"), .space = space, .objective = PlanObjective::kCost}},
      {dgx + "--objective memory",
       fast,
       {.step = step, .on = on("dgx-a100"), .space = space, .objective = PlanObjective::kMemory}},
      {words + "--cluster a10-8x4 --tp 1 --micro-batch-size 1,2",
       unfused,
       {.step = step, .on = on("a10-8x4"), .space = tp1}},
      {words + "--cluster a10-8x4 --tp 1 --micro-batch-size 1,2 --attention fused",
       fp16,
       {.step = fused, .on = on("a10-8x4"), .space = tp1}},
      {words + "--cluster a10-8x4 --tp 1 --micro-batch-size 1,2 --framework megatron-2022",
       unfused,
       {.step = step, .on = {.cluster = "a10-8x4", .framework = "megatron-2022"}, .space = tp1}},
      {dgx + "--framework megatron-2021",
       unfused,
       {.step = step, .on = {.cluster = "dgx-a100", .framework = "megatron-2021"}, .space = space}},
      {dgx + "--even --no-unused", fast, {.step = step, .on = on("dgx-a100"), .space = even}},
      {dgx + "--pp 2 --partition 1-3", fast, {.step = step, .on = on("dgx-a100"), .space = pp2}},
      {dgx + "--memory-share 0.5",
       fast,
       {.step = step, .on = on("dgx-a100"), .space = space, .memory_share = 0.5}},
      {dgx + "--deadline 1s", fast, {.step = step, .on = on("dgx-a100"), .space = space, .deadline = "1s"}},
      {dgx + "--grad-reduce-dtype fp32 --collective ring",
       "--dtype fp16 --seq-length 64",
       {.step = step,
        .on = {.cluster = "dgx-a100",
               .gradient_dtype = DType::kF32,
               .collective = CollectiveAlgorithm::kRing},
        .space = space}},
      {dgx + "--optimizer sgd", fast, {.step = sgd, .on = on("dgx-a100"), .space = space}},
      {words + "--fleet fleet.json --tp 1 --micro-batch-size 1,2",
       unfused,
       {.step = step, .fleet = "fleet.json", .space = tp1}},
  };
}

TEST(Questions, APlanIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  write_text("four.json", kAskedModel);
  write_text("fleet.json", kAskedFleet);
  for (const Asked<PlanningQuestion>& asked : planning_questions()) {
    SCOPED_TRACE(asked.words);
    const PlanningAnswer answer = plan(asked.question, {.top = 10});
    const Json expected = json_of(answer);
    EXPECT_EQ(run_json(command("plan", "four.json", "", asked.words)), expected);
    const std::string typed = format("{}{}", kTypedPlanning, asked.typed);
    EXPECT_EQ(figures(run_json(command("plan", "four.json", typed, asked.words))), figures(expected));
    PlanningQuestion full = asked.question;
    full.step.dtype = answer.asked.question.request.dtype;
    full.step.fused_attention = answer.asked.question.request.fused_attention;
    full.step.seq_length = answer.asked.question.request.seq_length;
    full.on = with_all_fields(full.on, answer.asked.assumed);
    full.memory_share = answer.asked.question.limits.memory_share;
    EXPECT_EQ(figures(json_of(plan(full, {.top = 10}))), figures(expected));
  }
}

// What `plan` found, asked of `simulate` with the flags that it prints, and by its file, takes as long.
TEST(Questions, APlanTakesAsLongInEveryCommand) {
  const WorkingFolder folder;
  write_text("four.json", kAskedModel);
  for (const char* more : {"", "--framework megatron-2022", "--grad-reduce-dtype fp32", "--collective ring",
                           "--optimizer sgd", "--recompute full", "--attention unfused"}) {
    SCOPED_TRACE(more);
    const std::string planned = format(
        "plan four.json --global-batch-size 8 --cluster dgx-a100 --no-unused "
        "--schedule 1f1b --top 3 --emit plan.json --force {}",
        more);
    const Json best = run_json(planned)["plans"][0];
    const Json flags = run_json("simulate four.json --cluster dgx-a100 " + best["flags"].get<std::string>());
    EXPECT_EQ(flags["iteration_time_s"], best["simulated_s"]);
    EXPECT_EQ(run_json("simulate --plan plan.json")["iteration_time_s"], best["simulated_s"]);
  }
}

}  // namespace
}  // namespace nadi::inline show
