#include "nadi/run/run_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nadi/base/json.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// What the attribute `step` of the nodes says: how many have which.
std::map<std::int64_t, int> nodes_by_step(const Trace& trace) {
  std::map<std::int64_t, int> counts;
  for (std::size_t row = 0; row < trace.size(); ++row)
    for (std::size_t i = 0; i < trace.attribute_count(row); ++i)
      if (const TraceAttribute attribute = trace.attribute(row, i); attribute.name == "step")
        ++counts[attribute.integer().value_or(-1)];
  return counts;
}

class RunRecorderTest : public FolderTest {
 protected:
  RecorderOptions options() const { return {.folder = folder_ / "traces", .name = "small"}; }

  // Steps 1 to `steps`, the engine replaced by one that takes 1500 ns for each of the program's 4 ops. Says
  // of each step whether it was recorded: '-' no, 'r' yes, 'w' yes, and then the files were written.
  std::string run(RunRecorder& recorder, int steps) const {
    std::string said;
    for (int step = 1; step <= steps; ++step) {
      ExecutedStep* const record = recorder.begin_step(step, program_);
      if (record != nullptr) *record = execute_for_tests(program_, step, Nanoseconds{step * 1'000'000});
      const bool write = recorder.end_step();
      if (write) recorder.write();
      said += write ? 'w' : record != nullptr ? 'r' : '-';
    }
    return said;
  }

  const Program program_ = [] {
    Program program = program_for_tests();
    program.slots = {1};
    return program;
  }();
};

TEST_F(RunRecorderTest, WaitsWarmsUpAndRecords) {
  RunRecorder recorder({.folder = folder_, .name = "a", .wait = 2, .warmup = 1, .active = 3});
  EXPECT_EQ(run(recorder, 9), "--rrrw---");
  EXPECT_EQ(recorder.recorded(), 3);
  EXPECT_TRUE(recorder.finished());
  // Steps 1 and 2 wait, step 3 is forgotten. The program has 4 ops.
  EXPECT_EQ(nodes_by_step(read_chakra(folder_ / "a_trace.et")),
            (std::map<std::int64_t, int>{{4, 4}, {5, 4}, {6, 4}}));

  RunRecorder at_once({.folder = folder_, .name = "b", .wait = 0, .warmup = 0, .active = 1});
  EXPECT_EQ(run(at_once, 3), "w--");
  EXPECT_EQ(nodes_by_step(read_chakra(folder_ / "b_trace.et")), (std::map<std::int64_t, int>{{1, 4}}));
}

TEST_F(RunRecorderTest, TheFilesAppearTogether) {
  RunRecorder recorder(options());
  EXPECT_EQ(run(recorder, 2), "-r");
  EXPECT_FALSE(fs::exists(folder_ / "traces"));
  const auto [kineto, chakra, stacks, groups, first_chakra] = recorder.files();
  EXPECT_EQ(kineto, folder_ / "traces" / "small_trace_kineto.json");
  EXPECT_EQ(chakra, folder_ / "traces" / "small_trace.et");
  EXPECT_EQ(stacks, folder_ / "traces" / "small_trace_stacks.txt");
  run(recorder, 1);
  EXPECT_EQ(recorder.merge(), kineto);  // one rank's is all ranks'
  EXPECT_EQ(entries(folder_ / "traces"), 3);
  for (const fs::path& path : {kineto, chakra, stacks}) EXPECT_GT(fs::file_size(path), 0u) << path;
}

TEST_F(RunRecorderTest, RefusesFilesThatAreThereBeforeAnythingRuns) {
  const RunTraceFiles files = run_trace_files(folder_ / "traces", "small");
  for (const fs::path& path : {files.kineto, files.chakra, files.stacks}) {
    write_text(path, "mine");
    const auto error = error_of([&] { const RunRecorder refused(options()); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->kind(), ErrorKind::kUsage);
    EXPECT_THAT(error->what(), HasSubstr(path.string()));
    EXPECT_EQ(read_text(path), "mine");
    RecorderOptions force = options();
    force.overwrite = Overwrite::kAllow;
    RunRecorder recorder(force);
    run(recorder, 3);
    EXPECT_NE(read_text(path), "mine");
    fs::remove_all(folder_ / "traces");
  }
}

TEST_F(RunRecorderTest, AFileThatCannotBeWrittenLeavesNoneOfThem) {
  fs::create_directories(folder_ / "traces" / "small_trace_stacks.txt");  // a folder of that name
  RecorderOptions force = options();
  force.overwrite = Overwrite::kAllow;
  RunRecorder recorder(force);
  const auto error = error_of([&] { run(recorder, 3); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("small_trace_stacks.txt"));
  EXPECT_EQ(entries(folder_ / "traces"), 1);
}

TEST_F(RunRecorderTest, TheChakraFileHasTheRecordsTimes) {
  RecorderOptions with_metadata = options();
  with_metadata.metadata = {{"model", "small"}};
  RunRecorder recorder(with_metadata);
  run(recorder, 3);
  const Trace trace = read_chakra(recorder.files().chakra);
  EXPECT_EQ(compare_with_dry_trace(trace, trace_step(program_)), std::nullopt);
  // Step 3 starts at 3 ms; a gap of 250 ns before each call of 1500.
  ASSERT_EQ(trace.size(), 4u);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(trace.start(row), Nanoseconds{3'000'000 + 250 + static_cast<std::int64_t>(row) * 1750});
    EXPECT_EQ(trace.duration(row), Nanoseconds{1500});
  }
  const TraceAttribute* const model = trace.metadata.attributes.find("model");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->text, "small");
}

// Four ranks: two stages of two data-parallel ones, all with the program of the second stage. The clock of
// rank r is r seconds ahead.
class RanksRecorderTest : public FolderTest {
 protected:
  RecorderOptions options(std::int32_t rank) const {
    return {.folder = folder_ / "traces",
            .name = "small",
            .wait = 0,
            .warmup = 0,
            .plan = &plan_,
            .rank = Rank{rank},
            .clock_offset = Nanoseconds{rank * 1'000'000'000LL},
            .clock_origin = Nanoseconds{1'716'398'122'000'000'000}};
  }
  void run(RunRecorder& recorder, std::int32_t rank) const {
    *recorder.begin_step(1, program_) =
        execute_overlapped_for_tests(program_, 1, Nanoseconds{5'000'000'000 + rank * 1'000'000'000LL});
    ASSERT_TRUE(recorder.end_step());
    recorder.write();
  }

  const Plan plan_ = communicating_plan_for_tests();
  const Program program_ = communicating_program_for_tests();
};

TEST_F(RanksRecorderTest, EachWritesItsOwnAndTheFirstMergesThem) {
  for (std::int32_t rank = 3; rank >= 0; --rank) {
    RunRecorder recorder(options(rank));
    const auto [kineto, chakra, stacks, groups, first_chakra] = recorder.files();
    const std::string number = std::to_string(rank);
    EXPECT_EQ(kineto, folder_ / "traces" / ("small_trace_kineto." + number + ".json"));
    EXPECT_EQ(chakra, folder_ / "traces" / ("small_trace." + number + ".et"));
    EXPECT_EQ(stacks, folder_ / "traces" / ("small_trace_stacks." + number + ".txt"));
    run(recorder, rank);
    EXPECT_THAT(read_text(stacks), HasSubstr("dp;all_reduce"));
    // What simulators need besides, and the name of a run on one rank for the first.
    EXPECT_EQ(groups, rank == 0 ? folder_ / "traces" / "small_trace.groups.json" : fs::path());
    EXPECT_EQ(first_chakra, rank == 0 ? folder_ / "traces" / "small_trace.et" : fs::path());
    if (rank == 0) {
      EXPECT_EQ(read_text(first_chakra), read_text(chakra));
      EXPECT_THAT(read_text(groups), HasSubstr("\"1\": [0"));
    }

    const Trace trace = read_chakra(chakra);
    EXPECT_EQ(trace.start(0), Nanoseconds{5'000'000'250});  // on the clock of rank 0, whatever the rank
    EXPECT_EQ(trace.find_attribute(0, "comm_dst")->integer(), rank);
    ASSERT_NE(trace.metadata.attributes.find("rank"), nullptr);
    EXPECT_EQ(trace.metadata.attributes.find("rank")->integer(), rank);
    if (rank == 0) {
      EXPECT_EQ(recorder.merge(), folder_ / "traces" / "small_trace_kineto.json");
    }
  }
  EXPECT_EQ(entries(folder_ / "traces"), 4 * 3 + 1 + 2);
  const JsonDocument document = read_json(merged_kineto_file(folder_ / "traces", "small"));
  std::map<std::int64_t, double> steps;  // by process: when its step began
  for (const JsonValue& event : document.root().at("traceEvents").elements())
    if (event.at("name").as_string() == "ProfilerStep#1")
      steps[event.at("pid").as_int64()] = event.at("ts").as_double();
  ASSERT_EQ(steps.size(), 4u);
  for (const auto& [process, began] : steps) EXPECT_EQ(began, steps.begin()->second) << process;
}

TEST_F(RanksRecorderTest, OnlySomeMayBeRecorded) {
  for (std::int32_t rank = 3; rank >= 0; --rank) {
    RecorderOptions some = options(rank);
    some.recorded_ranks = {1, 2};
    RunRecorder recorder(some);
    EXPECT_EQ(recorder.records(), rank == 1 || rank == 2);
    if (recorder.records()) {
      run(recorder, rank);
    } else {
      EXPECT_EQ(recorder.begin_step(1, program_), nullptr);
      EXPECT_TRUE(recorder.end_step()) << "it counts with the others";
      EXPECT_EQ(recorder.recorded(), 1);
      recorder.write();
    }
    if (rank == 0) {
      EXPECT_EQ(recorder.merge(), folder_ / "traces" / "small_trace_kineto.json");
    }
  }
  EXPECT_EQ(entries(folder_ / "traces"), 2 * 3 + 1);
  std::set<std::int64_t> processes;
  const JsonDocument document = read_json(merged_kineto_file(folder_ / "traces", "small"));
  for (const JsonValue& event : document.root().at("traceEvents").elements())
    if (event.at("name").as_string() == "ProfilerStep#1") processes.insert(event.at("pid").as_int64());
  EXPECT_EQ(processes.size(), 2u);
}

TEST_F(RanksRecorderTest, ARankRefusesItsOwnFilesAndTheFirstTheMergedOne) {
  write_text(merged_kineto_file(folder_ / "traces", "small"), "mine");
  RunRecorder(options(1));
  const auto error = error_of([&] { RunRecorder(options(0)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  EXPECT_THAT(error->what(), HasSubstr("small_trace_kineto.json"));

  write_text(folder_ / "traces" / "small_trace.1.et", "mine");
  EXPECT_TRUE(error_of([&] { RunRecorder(options(1)); }));
  RunRecorder(options(2));
}

TEST_F(RanksRecorderTest, ARankThatHasNotWrittenIsNamed) {
  for (const std::int32_t rank : {0, 1, 3}) {
    RunRecorder recorder(options(rank));
    run(recorder, rank);
  }
  RecorderOptions again = options(0);
  again.overwrite = Overwrite::kAllow;
  const RunRecorder first(again);
  const auto error = error_of([&] { first.merge(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_THAT(error->what(), HasSubstr("small_trace_kineto.2.json"));
  EXPECT_FALSE(fs::exists(merged_kineto_file(folder_ / "traces", "small")));
}

// Every event lies within the one that it starts in. Times are microseconds of some 10^12, which a double
// keeps to a nanosecond.
void expect_nested(std::vector<std::pair<double, double>> events) {
  constexpr double kSlack = 0.002;
  std::ranges::stable_sort(events, [](const auto& one, const auto& other) {
    return one.first < other.first || (one.first == other.first && one.second > other.second);
  });
  std::vector<double> ends;
  for (const auto& [begin, end] : events) {
    while (!ends.empty() && ends.back() <= begin + kSlack) ends.pop_back();
    if (!ends.empty()) {
      ASSERT_LE(end, ends.back() + kSlack);
    }
    ends.push_back(end);
  }
}

// A run as it is: the engine's record, not one made up.
class RecordedRun : public FolderTest {
 protected:
  RecordedRun() {
    options_ = run_.options();
    options_.accumulation = 2;
    options_.evaluate = false;
    options_.trace = RecorderOptions{.folder = folder_ / "traces", .name = "small"};
    program_ =
        build_step(options_.config,
                   {.batch_size = 4, .seq_length = options_.seq_length, .optimizer = options_.optimizer},
                   {.micro_batches = 2});
  }

  const SmallRun run_{architecture_named("gpt2"), {.samples = 20}};
  TrainOptions options_;
  Program program_;
};

TEST_F(RecordedRun, HasTheNodesOfTheDryTrace) {
  const Told told = run_.train(options_);
  ASSERT_EQ(told.traces.size(), 1u);
  const Trace trace = read_chakra(told.traces[0].chakra);
  EXPECT_EQ(compare_with_dry_trace(trace, trace_step(program_)), std::nullopt);
  Nanoseconds before{};
  for (std::size_t row = 0; row < trace.size(); ++row) {
    EXPECT_GE(trace.start(row), before) << row;  // calls come one after the other
    EXPECT_GE(trace.duration(row), Nanoseconds{0}) << row;
    before = trace.start(row) + trace.duration(row);
  }
  EXPECT_GT(trace.start(0), Nanoseconds{0});
  EXPECT_THAT(read_text(told.traces[0].stacks), HasSubstr("matmul"));
}

TEST_F(RecordedRun, ActiveStepsAreToldApart) {
  options_.trace->active = 3;
  const Told told = run_.train(options_);
  const auto nodes = static_cast<int>(trace_step(program_).size());
  // 1 waits, 2 warms up.
  EXPECT_EQ(nodes_by_step(read_chakra(told.traces.at(0).chakra)),
            (std::map<std::int64_t, int>{{3, nodes}, {4, nodes}, {5, nodes}}));
}

TEST_F(RecordedRun, TheKinetoFileNests) {
  options_.trace->active = 2;
  const Told told = run_.train(options_);
  const JsonDocument document = read_json(told.traces.at(0).kineto);
  const JsonValue events = document.root().at("traceEvents");
  std::set<std::string> annotations;
  std::set<std::string> ops;  // with step, micro-batch and section; a GPU may take several kernels for one
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<double, double>>> lanes;
  std::vector<std::string> steps;
  for (const JsonValue& event : events.elements()) {
    if (event.at("ph").as_string() != "X") continue;
    const double begin = event.at("ts").as_double();
    lanes[{event.at("pid").as_int64(), event.at("tid").as_int64()}].emplace_back(
        begin, begin + event.at("dur").as_double());
    const std::string& name = event.at("name").as_string();
    const std::string& category = event.at("cat").as_string();  // a GPU has annotations of its own
    if (category.ends_with("user_annotation")) annotations.insert(name);
    if (category == "user_annotation" && name.starts_with("ProfilerStep#")) steps.push_back(name);
    const JsonValue args = event.at("args");
    if (!args.find("op")) continue;
    const std::string run = fmt::format("{} {} {} ", args.at("step").as_int64(),
                                        args.at("micro_batch").as_int64(), args.at("section").as_string());
    if (const auto fused = args.find("ops"))  // a kernel of several ops lists them
      for (const JsonValue& op : fused->elements()) ops.insert(run + op.as_string());
    else
      ops.insert(run + args.at("op").as_string());
  }
  EXPECT_THAT(steps, ElementsAre("ProfilerStep#3", "ProfilerStep#4"));
  EXPECT_EQ(ops.size(), 2 * trace_step(program_).size());
  EXPECT_GT(annotations.size(), 2u);
  for (auto& [lane, events_of_lane] : lanes) expect_nested(events_of_lane);
}

TEST_F(RecordedRun, AShortRunWritesWhatItSaw) {
  options_.max_steps = 3;
  options_.trace->active = 5;
  const Told told = run_.train(options_);
  EXPECT_EQ(nodes_by_step(read_chakra(told.traces.at(0).chakra)).size(), 1u);

  options_.max_steps = 2;
  options_.trace->name = "shorter";
  const Told shorter = run_.train(options_);
  EXPECT_THAT(shorter.traces, IsEmpty());
  EXPECT_THAT(shorter.notes, ElementsAre(HasSubstr("too short for its tracing window")));
  EXPECT_FALSE(fs::exists(folder_ / "traces" / "shorter_trace.et"));
}

TEST_F(RecordedRun, TheRecordDoesNotChangeTheRun) {
  const std::vector<double> traced = run_.train(options_).losses();
  options_.trace.reset();
  EXPECT_EQ(run_.train(options_).losses(), traced);
}

}  // namespace
}  // namespace nadi::inline runs
