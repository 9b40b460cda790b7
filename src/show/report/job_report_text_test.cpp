#include "nadi/report/job_report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/base/temporary_folder.h"
#include "nadi/job_report/job_report.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

JobReport report_for_text(const std::filesystem::path& folder, const JobLogsSpec& spec) {
  const JobLog log = read_job_log(write_job_logs(folder, spec).folders);
  return make_job_report({.log = &log});
}

std::string text_of(const JobReport& report, const JobReport* other = nullptr) {
  std::ostringstream out;
  print_job_report(report, out, {.style = {.colour = false, .width = 100}, .compared_with = other});
  return out.str();
}

// 2 nodes of 4 GPUs, 2 stages: 4 replicas; 4 micro-batches of 2 on each: 32 samples in 1.4 s.
TEST(JobReportText, HasTheFiguresOfTheLog) {
  const TemporaryFolder folder;
  const std::string text =
      text_of(report_for_text(folder.path(), {.seconds = 1.4, .warm_up = 3.25, .noise = 0}));
  EXPECT_THAT(text, AllOf(HasSubstr("gpt2xl on 2 nodes\n"), HasSubstr("job           10932251\n"),
                          HasSubstr("8 ranks, tensor 1, data 4, pipeline 2, 4 micro-batches of 2\n"),
                          HasSubstr("iteration 100 of 500\n"), HasSubstr("1.40 s +- 0 ns per iteration")));
  // Ten iterations of the first line: 3.25 times 1.4 s each.
  EXPECT_THAT(text, HasSubstr("iterations    10: 4.55 s (warm-up), 20: 1.40 s, 30: 1.40 s"));
  EXPECT_THAT(text, HasSubstr("22.9 samples/s"));
  EXPECT_THAT(text, Not(HasSubstr("predicted"))) << "there is no plan";
  EXPECT_THAT(text, Not(HasSubstr("health"))) << "nobody asked the rules";
}

TEST(JobReportText, PredictionAgainstMeasured) {
  const TemporaryFolder folder;
  JobReport report = report_for_text(folder.path(), {.seconds = 1.4, .noise = 0});
  report.prediction = JobPrediction{.data = 4,
                                    .pipeline = 2,
                                    .micro_batch = 2,
                                    .global_batch = 64,
                                    .seq_length = 1024,
                                    .planned = Nanoseconds{700'000'000}};
  std::string text = text_of(report);
  EXPECT_THAT(text, HasSubstr("predicted 700 ms per step, measured 1.40 s: 2 times as long\n"));
  EXPECT_THAT(text,
              HasSubstr("the job does not follow the plan: global batch: 64 in the plan, 32 in the job\n"));
  report.prediction->problem = "the plan names no cluster";
  report.prediction->planned.reset();
  text = text_of(report);
  EXPECT_THAT(text, HasSubstr("the plan was not simulated: the plan names no cluster\n"));
  EXPECT_THAT(text, Not(HasSubstr("measured 1.40 s")));
}

// Two folders that are one run, on each side.
TEST(JobReportText, ComparisonOfTwoRunsOfTwoFolders) {
  const TemporaryFolder folder;
  const JobReport here =
      report_for_text(folder.path(), {.nodes = 4, .nodes_of_second_job = 2, .seconds = 1.4, .noise = 0});
  const JobReport other = report_for_text(
      folder.path(),
      {.job = 20, .nodes = 4, .nodes_of_second_job = 2, .micro_batch = 4, .seconds = 2.8, .noise = 0});
  const std::string text = text_of(here, &other);
  EXPECT_THAT(text, HasSubstr("job           10932251 + 10932252\n"));
  EXPECT_THAT(text, HasSubstr("Compared with 20 + 21\n"));
  EXPECT_THAT(text, testing::ContainsRegex("steady iteration +1\\.40 s +2\\.80 s +-50"));
  EXPECT_THAT(text, testing::ContainsRegex("MICRO_BATCH_SIZE +2 +4"));
  EXPECT_THAT(text, Not(testing::ContainsRegex("TENSOR_MP_SIZE +1 +1"))) << "what is equal is not listed";
}

TEST(JobReportText, CutLinesAreSaid) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "n.out",
             " iteration 10/ 20 | elapsed time per iteration (ms): 1000.0 | lm loss: 9.0 | loss sc\n"
             " iteration 20/ 20 | elapsed time per iter\n");
  const JobLog log = read_job_log({folder / "1"});
  const std::string text = text_of(make_job_report({.log = &log}));
  EXPECT_THAT(text, HasSubstr("iteration 10 of 20\n"));
  EXPECT_THAT(text, HasSubstr("note: 2 lines were cut or damaged: what stood behind the cuts is not here\n"));
}

TEST(JobReportText, LongTextsAreNotQuoted) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "n.err", "RuntimeError: " + std::string(300, 'x') + "\n");
  const JobLog log = read_job_log({folder / "1"});
  JobReport report = make_job_report({.log = &log});
  report.rules_asked = true;
  report.findings.push_back({.rule = "errors", .severity = "problem", .text = "RuntimeError: xxx\u2026xxx"});
  const std::string text = text_of(report);
  EXPECT_THAT(text, HasSubstr("problem: errors: RuntimeError: xxx\u2026xxx\n"));
  EXPECT_EQ(text.find('\''), std::string::npos) << text;
}

TEST(JobReportText, TextsOfLogsCannotDriveTheTerminal) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "n.out", "MODEL: \033[2Jx\nNODE_RANK: 0\n");
  write_text(folder / "1" / "n.err", "RuntimeError: \033]0;owned\007\n");
  const JobLog log = read_job_log({folder / "1"});
  const std::string text = text_of(make_job_report({.log = &log}));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find('\007'), std::string::npos);
}

}  // namespace
}  // namespace nadi::inline show
