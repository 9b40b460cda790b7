// Questions that read or write files have one answer, in words and in fields: every figure of the JSON, also with every
// default written out, and the bytes of what is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/calibration/calibration_question.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/conversion/conversion_question.h"
#include "nadi/examination/analysis_question.h"
#include "nadi/examination/check_question.h"
#include "nadi/prediction/comparison_question.h"
#include "nadi/prediction/simulation_question.h"
#include "nadi/report/answers_json.h"
#include "nadi/studies/study_question.h"
#include "nadi/studies/tuning_question.h"
#include "nadi/supervision/job_report_question.h"
#include "nadi/supervision/job_watch.h"
#include "nadi/testing/job_logs.h"
#include "nadi/trace/file_patterns.h"
#include "nadi/tracing/collective_question.h"
#include "nadi/tracing/trace_question.h"

namespace nadi::inline show {
namespace {

// As a program that links the library gets it.
template <typename Answer>
Json json_of_answer(const Answer& answer) {
  return Json::parse(to_json(answer));
}

// A question in words, what the command line takes for each default of it, and the question as fields.
template <typename Question>
struct AskedOfFiles {
  std::string words;
  std::string typed;
  Question question;
};

// Keys that differ by what was named, or by the clock.
Json without(Json answer, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) answer.erase(key);
  return answer;
}

TEST(FileQuestions, ATraceIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  const StepQuestion split{.model = "gpt2-tiny",
                           .plan = {.tp = 2, .dp = 2, .pp = 2},
                           .global_batch_size = 8,
                           .micro_batch_size = 1,
                           .seq_length = 16};
  const std::string split_words =
      "gpt2-tiny --tp 2 --dp 2 --pp 2 --global-batch-size 8 --micro-batch-size 1 --seq-length 16 ";
  const StepQuestion made{
      .model = "gpt2-tiny", .kind = StepKind::kGenerate, .input_tokens = 4, .output_tokens = 3};
  const std::string typed = "--for chakra --tensors first --dtype fp16 --attention fused ";
  const std::vector<AskedOfFiles<TraceQuestion>> questions{
      {"gpt2-tiny --seq-length 16",
       typed + "--step train --ranks 0",
       {.step = {.model = "gpt2-tiny", .seq_length = 16}}},
      {split_words, typed + "--ranks 0-7 --zero 0 --schedule 1f1b", {.step = split}},
      {split_words + "--for astra-sim --tensors none --ranks 1,5",
       "--dtype fp16",
       {.step = split,
        .ranks = {Rank{1}, Rank{5}},
        .flavor = TraceFlavor::kAstraSim,
        .tensors = TensorListing::kNone}},
      {"gpt2-tiny --step generate --num-input-tokens 4 --num-output-tokens 3",
       typed + "--batch-size 1",
       {.step = made, .tensors = TensorListing::kFirstMicroBatch}},
  };
  int number = 0;
  for (const AskedOfFiles<TraceQuestion>& asked : questions) {
    SCOPED_TRACE(asked.words);
    TraceQuestion question = asked.question;
    question.files.prefix = format("fields{}/t", ++number);
    const TraceAnswer answer = trace(question);
    const Json expected = without(json_of_answer(answer), {"prefix", "groups_file"});
    for (const std::string& typed_words : {std::string(), asked.typed}) {
      const std::string prefix = format("words{}/t", number);
      const Json printed = run_json(format("trace {} {} -o {} --force", asked.words, typed_words, prefix));
      EXPECT_EQ(without(printed, {"prefix", "groups_file"}), expected) << typed_words;
      for (const Rank rank : answer.ranks)
        EXPECT_EQ(read_text(format("{}.{}.et", prefix, to_number(rank))),
                  read_text(question.files.file_of(to_number(rank))));
    }
  }
}

TEST(FileQuestions, ACollectiveIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  const std::vector<AskedOfFiles<CollectiveQuestion>> questions{
      {"all-reduce --bytes 1MB --ranks 4",
       "--op sum",
       {.kind = "all-reduce", .size = Bytes{1'000'000}, .ranks = 4}},
      {"reduce-scatter --op prod --bytes 64KiB --ranks 2",
       "",
       {.kind = "reduce-scatter", .reduction = "prod", .size = 64_KiB, .ranks = 2}},
      {"send-receive --bytes 1KiB --ranks 3", "", {.kind = "send-receive", .size = 1_KiB, .ranks = 3}},
  };
  for (const AskedOfFiles<CollectiveQuestion>& asked : questions) {
    SCOPED_TRACE(asked.words);
    CollectiveQuestion question = asked.question;
    question.files = {.prefix = "fields", .overwrite = Overwrite::kAllow};
    const Json expected = without(json_of_answer(trace_collective(question)), {"prefix"});
    for (const std::string& typed : {std::string(), asked.typed}) {
      EXPECT_EQ(without(run_json(format("trace collective {} {} -o words --force", asked.words, typed)),
                        {"prefix"}),
                expected);
      EXPECT_EQ(read_text("words.1.et"), read_text("fields.1.et"));
    }
  }
}

TEST(FileQuestions, AConversionIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  copy_sample_traces(".");
  const std::string profile = "run_rank0_device.json", host = "run_rank0_host.json";
  const std::vector<AskedOfFiles<ConversionQuestion>> questions{
      {profile, "--format et --time-unit us", {.files = {profile}}},
      {format("{} --num-ops", profile), "--format et", {.files = {profile}, .options = {.num_ops = true}}},
      {format("--host {} --device {}", host, profile),
       "--format et --time-unit us",
       {.devices = {profile}, .hosts = {host}}},
      {"'run_rank*_device.json' --simulate-only",
       "--format et",
       {.files = {"run_rank*_device.json"}, .options = {.simulate_only = true}}},
  };
  for (const AskedOfFiles<ConversionQuestion>& asked : questions) {
    SCOPED_TRACE(asked.words);
    ConversionQuestion question = asked.question;
    question.output = "made/run";
    question.overwrite = Overwrite::kAllow;
    const Json expected = json_of_answer(convert(question));
    const std::string bytes = read_text("made/run.0.et");
    for (const std::string& typed : {std::string(), asked.typed}) {
      EXPECT_EQ(run_json(format("convert {} {} -o made/run --force", asked.words, typed)), expected);
      EXPECT_EQ(read_text("made/run.0.et"), bytes);
    }
  }
}

TEST(FileQuestions, ChecksAndAnalysesAreTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  copy_sample_traces(".");
  ASSERT_EQ(run("convert 'run_rank*_device.json' -o run").code, 0);
  const std::vector<AskedOfFiles<CheckQuestion>> checks{
      {"run", "--limit 10", {.files = {"run"}}},
      {"run.0.et --simulator astra-sim",
       "",
       {.files = {"run.0.et"}, .options = {.simulators = {"astra-sim"}}}},
      {"run --limit 1 --strict --lenient",
       "",
       {.files = {"run"},
        .options = {.kept_per_rule = 1, .damaged_records = DamagedRecords::kSkip, .strict = true}}},
  };
  for (const AskedOfFiles<CheckQuestion>& asked : checks) {
    SCOPED_TRACE(asked.words);
    const Json expected = json_of_answer(check_files(asked.question));
    for (const std::string& typed : {std::string(), asked.typed})
      EXPECT_EQ(Json::parse(run(format("check --json {} {}", asked.words, typed)).out), expected);
  }
  const std::vector<AskedOfFiles<AnalysisQuestion>> analyses{
      {"run", "--consecutive-gap 30000 --full-queue 1024", {.files = {"run"}}},
      {"run.0.et --consecutive-gap 1000 --full-queue 4",
       "",
       {.files = {"run.0.et"}, .kernel_gap = Nanoseconds{1000}, .full_queue = 4}},
      {"run.0.et --against run.1.et",
       "--consecutive-gap 30000",
       {.files = {"run.0.et"}, .against = {"run.1.et"}}},
      {"'run_rank*_device.json'", "--full-queue 1024", {.files = {"run_rank*_device.json"}}},
  };
  for (const AskedOfFiles<AnalysisQuestion>& asked : analyses) {
    SCOPED_TRACE(asked.words);
    const Json expected = json_of_answer(analyze(asked.question));
    for (const std::string& typed : {std::string(), asked.typed})
      EXPECT_EQ(run_json(format("analyze {} {}", asked.words, typed)), expected);
  }
}

TEST(FileQuestions, AComparisonIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  ASSERT_EQ(
      run("simulate gpt2-tiny --seq-length 16 --dp 2 --cluster dgx-a100 --jitter 0.1 --et-out ran").code, 0);
  const std::vector<std::filesystem::path> files = expand_traces(std::vector<std::string>{"ran"});
  const std::vector<AskedOfFiles<ComparisonQuestion>> questions{
      {"--cluster dgx-a100", "--top 10", {.files = files, .on = {.cluster = "dgx-a100"}}},
      {"--cluster dgx-h100 --top 3", "", {.files = files, .on = {.cluster = "dgx-h100"}, .top = 3}},
      {"--cluster dgx-h100 --all-steps",
       "--top 10",
       {.files = files, .on = {.cluster = "dgx-h100"}, .all_steps = true}},
  };
  for (const AskedOfFiles<ComparisonQuestion>& asked : questions) {
    SCOPED_TRACE(asked.words);
    const Json expected = json_of_answer(compare(asked.question));
    for (const std::string& typed : {std::string(), asked.typed})
      EXPECT_EQ(run_json(format("compare ran {} {}", asked.words, typed)), expected);
  }
  TraceSimulationQuestion again{.files = {"ran"}, .on = {.cluster = "dgx-a100"}};
  EXPECT_EQ(run_json("simulate ran --cluster dgx-a100"), json_of_answer(simulate(again)));
  EXPECT_EQ(run_json("simulate ran.0.et --ranks 1 --cluster dgx-a100")["subject"], "ran.0.et");
}

TEST(FileQuestions, JobsAreTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  write_job_logs("log2", {.nodes = 3, .pipeline = 3, .timers = JobTimers::kAll});
  write_job_logs("log2", {.job = 7, .nodes = 3, .pipeline = 3, .micro_batch = 4});
  const std::vector<AskedOfFiles<JobReportQuestion>> reports{
      {"log2/10932251", "--outputs jobs", {.jobs = {"log2/10932251"}}},
      {"log2/10932251 --compare log2/7",
       "--outputs jobs",
       {.jobs = {"log2/10932251"}, .compared_with = {"log2/7"}}},
      {"7 --outputs log2", "", {.jobs = {"7"}, .outputs = "log2"}},
  };
  for (const AskedOfFiles<JobReportQuestion>& asked : reports) {
    SCOPED_TRACE(asked.words);
    const Json expected = without(json_of_answer(report_job(asked.question)), {"timeline"});
    for (const std::string& typed : {std::string(), asked.typed})
      EXPECT_EQ(without(run_json(format("job report {} {}", asked.words, typed)), {"timeline"}), expected);
  }
  JobWatch watch({.jobs = {"log2/7"}});
  const Json state = without(json_of_answer(watch.look()), {"now"});
  for (const char* words : {"log2/7", "log2/7 --interval 2 --outputs jobs"})
    EXPECT_EQ(without(Json::parse(run(format("job watch --once --json {}", words)).out), {"now"}), state);
}

TEST(FileQuestions, AStudyIsTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  const TuningQuestion question{
      .command = {.words = {"echo", "c={{n}}"}},
      .parameters = {parameter_of_text("n=1..9")},
      .constraints = {{.expression = Expression::parse("n!=3", "--constraint 1")}},
      .metrics = {metric_of_text("c=([0-9]+)")},
      .direction = StudyDirection::kMinimize,
      .trials = 4,
  };
  const std::string words = "--param n=1..9 --constraint n!=3 --metric 'c=([0-9]+)' --minimize --trials 4 ";
  const std::string typed =
      "--metric-of last --metric-warmup 0 --repeat 1 --sampler auto --seed 0 --pruner none ";
  int number = 0;
  for (const std::string& defaults : {std::string(), typed}) {
    const std::string file = format("s{}.journal", ++number);
    ASSERT_EQ(run(format("tune {} {} --study {} -- echo c={{{{n}}}}", words, defaults, file)).code, 0);
    const StudyView view = view_study({.file = file});
    ASSERT_TRUE(view.tune.has_value());
    EXPECT_EQ(tune_study_json(*view.tune), tune_study_json(resolve(question)));
    for (const char* more : {"", " --top 20 --name tune"})
      EXPECT_EQ(run_json(format("tune show {}{}", file, more)), json_of_answer(view));
    EXPECT_EQ(trial_of(view).number, run_json("tune best " + file)["number"]);
  }
}

// What is measured differs from run to run: what is measured of what does not.
TEST(FileQuestions, ACalibrationMeasuresTheSameInWordsAndInFields) {
  const WorkingFolder folder;
  const CalibrationAnswer answer = calibrate({.sizes = {{.batch = 1, .tokens = 16}},
                                              .patience = Nanoseconds{0},
                                              .threads = 1,
                                              .models = {"gpt2-tiny"}});
  const Json fields = json_of_answer(answer)["ranks"][0];
  for (const char* typed : {"", "--device cpu --dtype fp32 --repeat 3"}) {
    const Json words = run_json(format(
        "calibrate --model gpt2-tiny --ranks 1 --threads 1 --sizes 1x16 --patience 0 -o me.json --force {}",
        typed))["ranks"][0];
    for (const char* key : {"ranks", "device", "product", "ops"}) EXPECT_EQ(words[key], fields[key]) << key;
  }
}

}  // namespace
}  // namespace nadi::inline show
