#include "nadi/draw/job_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/job_report/job_report.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

JobReport report_of_logs(const fs::path& folder, const JobLogsSpec& spec) {
  const JobLog log = read_job_log(write_job_logs(folder, spec).folders);
  return make_job_report({.log = &log});
}

std::vector<std::string> group_names(const TimelineView& view) {
  std::vector<std::string> names;
  for (std::uint32_t group = 0; group < view.group_count(); ++group) names.push_back(view.group(group).name);
  return names;
}

std::uint64_t events_of(const TimelineView& view, TimelineKind kind) {
  std::uint64_t count = 0;
  for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane)
    for (const std::uint32_t label : view.events(lane).labels) count += view.labels()[label].kind == kind;
  return count;
}

void write_rank_trace(const fs::path& path, std::int64_t start) {
  std::string bytes;
  write_chakra(*trace_for_tests({{.id = 1, .name = "gemm", .start = start, .end = start + 500}}),
               [&](std::string_view part) { bytes += part; });
  write_text(path, bytes);
}

// 2 nodes of 4 ranks, 2 stages, 4 micro-batches: each rank has 4 forwards and 4 backwards in an iteration.
TEST(JobTimeline, ReconstructsAnIterationOfAllRanks) {
  const TemporaryFolder folder;
  const JobReport report = report_of_logs(folder.path(), {.timers = JobTimers::kAll});
  const auto view = job_timeline(report, {});
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->pipeline);
  EXPECT_THAT(view->subtitle, HasSubstr("reconstructed"));
  EXPECT_EQ(events_of(*view, TimelineKind::kForward), 8U * 4);
  EXPECT_EQ(events_of(*view, TimelineKind::kBackward), 8U * 4);
}

// With PROFILE=true the log lists the calls of ten iterations.
TEST(JobTimeline, ShowsCallsAtTheirMoments) {
  const TemporaryFolder folder;
  const JobReport report =
      report_of_logs(folder.path(), {.iterations = 30, .timers = JobTimers::kAll, .profile = true});
  const auto view = job_timeline(report, {});
  ASSERT_TRUE(view);
  EXPECT_THAT(view->subtitle, HasSubstr("Calls as the log lists them up to iteration 30, 8 ranks"));
  EXPECT_EQ(events_of(*view, TimelineKind::kForward), 8U * 4 * 10);
}

TEST(JobTimeline, LeavesOutReplicasOfLargeJobsAndSaysSo) {
  const TemporaryFolder folder;
  const JobReport report = report_of_logs(folder.path(), {.nodes = 8, .timers = JobTimers::kAll});
  // 32 ranks have 2 * 4 * 32 = 256 boxes; 64 are a rank in four: 4 of the 16 of each of the 2 stages.
  const auto view = job_timeline(report, {.most_events = 64});
  ASSERT_TRUE(view);
  EXPECT_EQ(events_of(*view, TimelineKind::kForward), 2U * 4 * 4);
  EXPECT_THAT(view->notes, Contains(HasSubstr("only some ranks are drawn")));
  EXPECT_THAT(view->notes, Contains(HasSubstr("256 boxes")));
}

TEST(JobTimeline, SumsOfTimersStandOneAfterTheOther) {
  const TemporaryFolder folder;
  const auto view = job_timeline(report_of_logs(folder.path(), {.timers = JobTimers::kMinMax}), {});
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->pipeline);
  EXPECT_THAT(view->subtitle, HasSubstr("one after the other"));
}

TEST(JobTimeline, OfALogWithoutTimersThereIsNone) {
  const TemporaryFolder folder;
  std::string problem;
  EXPECT_FALSE(job_timeline(report_of_logs(folder.path(), {.timers = JobTimers::kNone}), {}, &problem));
  EXPECT_EQ(problem, "");
}

TEST(JobTimeline, TracesComeFirst) {
  const TemporaryFolder folder;
  const JobReport report = report_of_logs(folder.path(), {.timers = JobTimers::kAll});
  const fs::path job = report.folders[0];
  write_rank_trace(job / "trace" / "run.0.et", 1000);
  write_rank_trace(job / "trace" / "run.1.et", 1200);
  write_rank_trace(job / "trace" / "run.et", 1000);
  write_text(job / "trace" / "run.groups.json", "{}");
  write_text(job / "trace" / "run_stacks.0.txt", "");
  const JobTraces traces = find_job_traces(report.folders);
  EXPECT_THAT(traces.files, ElementsAre(job / "trace" / "run.0.et", job / "trace" / "run.1.et"));
  EXPECT_THAT(traces.notes, IsEmpty());
  const auto view = job_timeline(report, {.traces = traces});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->subtitle, "From 2 traces in the folder of the job.");
  EXPECT_THAT(group_names(*view), ElementsAre("rank 0", "rank 1"));

  write_text(job / "trace" / "run.1.et", "rubbish");
  std::string problem;
  EXPECT_FALSE(job_timeline(report, {.traces = traces}, &problem));
  EXPECT_THAT(problem, HasSubstr("run.1.et"));
}

TEST(JobTraces, OneRecordingOfSeveral) {
  const TemporaryFolder folder;
  EXPECT_THAT(find_job_traces({folder.path()}).files, IsEmpty());
  // Rank 10 stands behind rank 2; the second folder has a rank of the same run.
  for (const char* name : {"a/trace/x.2.et", "a/trace/x.10.et", "b/trace/x.0.et", "a/trace/y.0.et"})
    write_text(folder / name, std::string(1000, 'x'));
  JobTraces traces = find_job_traces({folder / "a", folder / "b"});
  EXPECT_THAT(traces.files,
              ElementsAre(folder / "b/trace/x.0.et", folder / "a/trace/x.2.et", folder / "a/trace/x.10.et"));
  EXPECT_THAT(traces.notes, ElementsAre("trace/ has 2 recordings; the timeline shows x.#.et"));
  traces = find_job_traces({folder / "a", folder / "b"}, Bytes{2500});
  EXPECT_THAT(traces.files, SizeIs(2));
  EXPECT_THAT(traces.notes, Contains(HasSubstr("only the first 2 of 3 traces are drawn")));
  // Profiles say the same as the Chakra traces beside them, and the one of all ranks says it again.
  for (const char* name : {"c/trace/run.0.json", "c/trace/run.1.json.gz", "c/trace/run.json",
                           "c/trace/run.0.et", "c/trace/run.groups.json"})
    write_text(folder / name, "{}");
  EXPECT_THAT(find_job_traces({folder / "c"}).files,
              ElementsAre(folder / "c/trace/run.0.json", folder / "c/trace/run.1.json.gz"));
  // A job that was queued again.
  for (const char* name :
       {"e/trace/x.0.et", "e/trace.start2/x.0.et", "e/trace.start10/x.0.et", "e/trace.starting/x.0.et"})
    write_text(folder / name, "x");
  EXPECT_THAT(find_job_traces({folder / "e"}).files, ElementsAre(folder / "e/trace.start10/x.0.et"));
  // What a single rank of nadi train leaves.
  for (const char* name :
       {"d/trace/gpt2_trace.et", "d/trace/gpt2_trace_kineto.json", "d/trace/gpt2_trace_stacks.txt"})
    write_text(folder / name, "{}");
  EXPECT_THAT(find_job_traces({folder / "d"}).files, ElementsAre(folder / "d/trace/gpt2_trace_kineto.json"));
}

TEST(JobTimelineJson, HasEveryEventOnce) {
  const TemporaryFolder folder;
  const auto view = job_timeline(report_of_logs(folder.path(), {.timers = JobTimers::kAll}), {});
  ASSERT_TRUE(view);
  const Json json = job_timeline_json(*view);
  EXPECT_EQ(json.at("pipeline"), true);
  std::size_t events = 0;
  std::int64_t first = 1;
  for (const Json& lane : json.at("lanes")) {
    const std::size_t count = lane.at("start_ns").size();
    EXPECT_EQ(lane.at("duration_ns").size(), count);
    EXPECT_EQ(lane.at("label").size(), count);
    EXPECT_EQ(lane.at("micro_batch").size(), count);
    events += count;
    for (const Json& start : lane.at("start_ns")) first = std::min(first, start.get<std::int64_t>());
    for (const Json& label : lane.at("label")) EXPECT_LT(label.get<std::size_t>(), json.at("labels").size());
  }
  EXPECT_EQ(events, view->event_count());
  EXPECT_EQ(first, 0) << "times count from the first event";
}

}  // namespace
}  // namespace nadi::inline show
