#include "nadi/draw/job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/draw/job_timeline.h"
#include "nadi/job_report/job_report.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

JobReport report_for_page(const std::filesystem::path& folder, const JobLogsSpec& spec) {
  const JobLog log = read_job_log(write_job_logs(folder, spec).folders);
  return make_job_report({.log = &log});
}

TEST(JobPage, SaysWhatItIsAndAsksNoNetwork) {
  const TemporaryFolder folder;
  const JobReport report =
      report_for_page(folder.path(), {.seconds = 1.4, .noise = 0, .timers = JobTimers::kAll});
  const auto timeline = job_timeline(report, {});
  const std::filesystem::path path = folder / "job.html";
  const Bytes size = write_job_page({.report = &report, .timeline = &*timeline}, path, Overwrite::kRefuse);
  EXPECT_EQ(static_cast<std::uintmax_t>(size.count()), std::filesystem::file_size(path));
  const std::string page = read_text(path);
  EXPECT_THAT(page, HasSubstr("<title>gpt2xl on 2 nodes, job 10932251</title>"));
  EXPECT_THAT(page, HasSubstr("1.40 s per iteration"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, Not(testing::ContainsRegex("(src|href)=\"?https?:")));
  EXPECT_THROW(write_job_page({.report = &report}, path, Overwrite::kRefuse), Error);
  // Without its timeline it is smaller, and the same report gives the same bytes.
  const Bytes alone = write_job_page({.report = &report}, path, Overwrite::kAllow);
  EXPECT_LT(alone, size);
  write_job_page({.report = &report, .timeline = &*timeline}, path, Overwrite::kAllow);
  EXPECT_EQ(read_text(path), page);
}

TEST(JobPage, NamesTheJobOnceWhereNothingElseIsKnown) {
  const TemporaryFolder folder;
  write_text(folder / "7" / "n1.out", "NODE_RANK: 0\n");
  const JobLog log = read_job_log({folder / "7"});
  const JobReport report = make_job_report({.log = &log});
  write_job_page({.report = &report}, folder / "x.html", Overwrite::kRefuse);
  EXPECT_THAT(read_text(folder / "x.html"), HasSubstr("<title>job 7 on 1 node</title>"));
}

TEST(JobPage, NamesTheJobThatItIsComparedWith) {
  const TemporaryFolder folder;
  const JobReport report = report_for_page(folder.path(), {.noise = 0});
  const JobReport other = report_for_page(folder.path(), {.job = 555, .noise = 0});
  write_job_page({.report = &report, .compared_with = &other}, folder / "two.html", Overwrite::kRefuse);
  EXPECT_THAT(read_text(folder / "two.html"), HasSubstr("1.40 s per iteration; compared with job 555"));
}

TEST(JobPage, TextsOfLogsAreNeverHtml) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "n<b>.out", "MODEL: </script><script>alert(1)</script>\nNODE_RANK: 0\n");
  write_text(folder / "1" / "n<b>.err", "RuntimeError: </script><script>alert(1)</script>\n");
  const JobLog log = read_job_log({folder / "1"});
  const JobReport report = make_job_report({.log = &log});
  write_job_page({.report = &report}, folder / "x.html", Overwrite::kRefuse);
  EXPECT_THAT(read_text(folder / "x.html"), Not(HasSubstr("<script>alert(1)")));
}

}  // namespace
}  // namespace nadi::inline show
