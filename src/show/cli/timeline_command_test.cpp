// `nadi timeline`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/train_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class TimelineCommandTest : public testing::Test {
 protected:
  TimelineCommandTest() { copy_sample_traces("."); }
  const WorkingFolder folder_;
};

TEST_F(TimelineCommandTest, WritesAPage) {
  const CliRun done = run("timeline 'run_rank*_device.json' -o out/t.html");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("out/t.html: 2 ranks, "));
  EXPECT_THAT(done.out, HasSubstr("1 collective across ranks"));
  const std::string page = read_text("out/t.html");
  EXPECT_THAT(page, HasSubstr("<html"));
  EXPECT_THAT(page, HasSubstr("run_rank0_device"));
}

TEST_F(TimelineCommandTest, SameInputSameBytes) {
  for (const char* format : {"html", "perfetto", "json"}) {
    for (const char* name : {"a", "b"})
      ASSERT_EQ(run(std::string("timeline 'run_rank*_device.json' --format ") + format + " -o " + name).code,
                0);
    EXPECT_EQ(read_text("a"), read_text("b")) << format;
    fs::remove("a");
    fs::remove("b");
  }
}

TEST_F(TimelineCommandTest, RefusesToOverwrite) {
  ASSERT_EQ(run("timeline run_rank0_device.json").code, 0);
  EXPECT_TRUE(fs::exists("timeline.html"));
  const CliRun again = run("timeline run_rank0_device.json");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(run("timeline run_rank0_device.json --force").code, 0);
}

// Slices of a thread nest, every flow has two ends, and each lies in a slice.
TEST_F(TimelineCommandTest, PerfettoTakesIt) {
  ASSERT_EQ(run("timeline 'run_rank*_device.json' 'run_rank*_host.json' -o t.perfetto.json").code, 0);
  const Json trace = Json::parse(read_text("t.perfetto.json"));
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  std::map<std::pair<std::string, int>, std::set<std::string>> flows;
  std::set<std::string> processes;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X")
      slices[{event["pid"], event["tid"]}].emplace_back(
          event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
    if (phase == "s" || phase == "f") flows[{event["cat"], event["id"]}].insert(phase);
    if (phase == "M" && event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_THAT(processes, testing::ElementsAre("rank 0", "rank 1"));
  EXPECT_FALSE(flows.empty());
  for (const auto& [flow, ends] : flows) EXPECT_EQ(ends.size(), 2U) << flow.first << flow.second;
  for (auto& [thread, list] : slices) {
    std::ranges::sort(list, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    for (const auto& [start, end] : list) {
      while (!open.empty() && open.back() <= start + 1e-9) open.pop_back();
      EXPECT_TRUE(open.empty() || end <= open.back() + 1e-9) << thread.first << "." << thread.second;
      open.push_back(end);
    }
  }
}

TEST_F(TimelineCommandTest, PlainJsonAddsUpToTheSummary) {
  const Json summary = run_json("timeline 'run_rank*_device.json' -o t.json");
  const Json timeline = Json::parse(read_text("t.json"));
  EXPECT_EQ(timeline["format"], "nadi-timeline");
  std::map<std::string, std::int64_t> sums;
  std::int64_t events = 0;
  for (const Json& lane : timeline["lanes"])
    for (const Json& event : lane["events"]) {
      sums[event["kind"]] += event["duration_ns"].get<std::int64_t>();
      events += event["kind"] == "idle" ? 0 : 1;
      EXPECT_GE(event["start_ns"], 0);
    }
  std::int64_t compute = 0, communication = 0;
  for (const Json& rank : summary["ranks"]) {
    compute += rank["compute_ns"].get<std::int64_t>();
    communication += rank["communication_ns"].get<std::int64_t>();
  }
  EXPECT_EQ(sums["compute"], compute);
  EXPECT_EQ(sums["communication"], communication);
  EXPECT_EQ(summary["events"], events);
  for (const Json& link : timeline["links"])
    EXPECT_LT(link["to"][1], timeline["lanes"][link["to"][0].get<std::size_t>()]["events"].size());
}

TEST_F(TimelineCommandTest, Mistakes) {
  const auto fails = [](const std::string& words, int code, const std::string& text) {
    const CliRun done = run("timeline " + words);
    EXPECT_EQ(done.code, code) << words;
    EXPECT_THAT(done.err, HasSubstr(text)) << words;
  };
  fails("", 2, "FILE");
  fails("nothing.json", 3, "nothing.json");
  fails("run_rank0_device.json -o t.png", 2, "unknown output format");
  fails("run_rank0_device.json --ranks 3-1", 2, "--ranks");
  fails("run_rank0_device.json --ranks 7", 2, "no trace is of rank 7");
  fails("run_rank0_device.json --steps 99", 2, "no event is of step 99");
  fails("run_rank0_device.json --from 5", 2, "with its unit");
  fails("run_rank0_device.json --from 2s --to 1s", 2, "--from lies behind --to");
  fails("run_rank0_device.json --streams 1234567", 2, "no lane is called '1234567'");
  fails("run_rank0_device.json --pipeline", 3, "micro-batch");
  ASSERT_EQ(run("trace gpt2-tiny --seq-length 8 -o dry").code, 0);
  fails("dry.0.et", 3, "no node of this trace has a time");
  fails("dry.0.et --pipeline", 3, "no node of this trace has a time");
  EXPECT_FALSE(fs::exists("timeline.html"));
}

class TimelineOfOwnRun : public TrainFolder {};

// The trace of a run and its profile show the same.
TEST_F(TimelineOfOwnRun, TraceAndProfileTellTheSame) {
  ASSERT_EQ(train({{"--enable-tracing", ""}}).code, 0);
  const Json trace = run_json("timeline outputs/tiny_trace.et -o a.html");
  const Json profile = run_json("timeline outputs/tiny_trace_kineto.json -o b.html");
  for (const char* key : {"events", "compute_ns", "span_ns", "idle_ns"})
    EXPECT_EQ(trace["ranks"][0][key], profile["ranks"][0][key]) << key;
  const Json pipeline = run_json("timeline --pipeline outputs/tiny_trace.et -o p.html");
  const Json same = run_json("timeline --pipeline outputs/tiny_trace_kineto.json -o q.html");
  EXPECT_EQ(pipeline["stages"], same["stages"]);
  EXPECT_EQ(pipeline["stage_count"], 1);
  EXPECT_GT(pipeline["stages"][0]["forward_ns"], 0);
}

}  // namespace
}  // namespace nadi::inline show
