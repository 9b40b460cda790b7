#include "nadi/recording/kineto_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/recording/kineto_writer.h"
#include "nadi/recording/run_traces.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class KinetoMerge : public testing::Test {
 protected:
  KinetoMerge() {
    for (std::int32_t rank = 0; rank < 4; ++rank) paths_.push_back(write_rank(rank));
  }

  // The two ranks of each stage run the same program here. The clock of rank r is r seconds ahead; on that of
  // rank 0 it starts r microseconds later.
  fs::path write_rank(std::int32_t rank) const {
    const auto file = [&](const char* what) { return folder_ / (what + std::to_string(rank)); };
    const Nanoseconds offset{rank * 1'000'000'000LL};
    const ExecutedStep step =
        execute_overlapped_for_tests(program_, 7, Nanoseconds{5'000'000'000 + rank * 1'000} + offset);
    write_run_traces({.kineto = file("kineto."), .chakra = file("chakra."), .stacks = file("stacks.")},
                     program_, std::span(&step, 1),
                     {.name = "a \"run\", \"pid\": 9,",
                      .plan = &plan_,
                      .rank = Rank{rank},
                      .clock_offset = offset,
                      .clock_origin = Nanoseconds{1'716'398'122'000'000'000}});
    return file("kineto.");
  }

  std::uint64_t merge(Overwrite overwrite = Overwrite::kAllow) const {
    return merge_kineto_files(paths_, folder_ / "merged", overwrite);
  }

  // What merging says when `wrong` stands in the place of the file of rank 1.
  std::string error_for(const std::string& wrong) const {
    write_text(paths_[1], wrong);
    try {
      merge();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.place().file, paths_[1].string());
      EXPECT_FALSE(fs::exists(folder_ / "merged"));
      return error.what();
    }
    return "";
  }

  const Plan plan_{.dp = 2, .pp = 2};
  // Its peer is place 0 of the pipeline's group: of ranks 0 and 1 themselves.
  const Program program_ = communicating_program_for_tests();
  const TemporaryFolder folder_;
  std::vector<fs::path> paths_;
};

TEST_F(KinetoMerge, HasTheEventsOfAllRanks) {
  const std::uint64_t count = merge(Overwrite::kRefuse);
  const Json merged = Json::parse(read_text(folder_ / "merged"));
  EXPECT_EQ(merged.at("traceEvents").size(), count);
  Json all = Json::array();
  for (const fs::path& path : paths_) {
    const Json rank = Json::parse(read_text(path));
    for (const Json& event : rank.at("traceEvents")) all.push_back(event);
  }
  // All were written by one process here: those of rank 1 on get numbers of their own.
  ASSERT_EQ(merged.at("traceEvents").size(), all.size());
  std::map<std::int64_t, std::set<std::int64_t>> ranks_of_process;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Json event = merged.at("traceEvents")[i];
    const std::int64_t shown = event.at("pid"), written = all[i].at("pid");
    const std::int64_t rank = shown == getpid() ? 0 : shown - (1 << 22);
    ranks_of_process[shown].insert(rank);
    EXPECT_EQ(written, getpid());
    const std::int64_t thread = event.at("tid"), thread_written = all[i].at("tid");
    EXPECT_EQ(thread == 0 ? written : thread - shown + written, thread == 0 ? written : thread_written);
    event.at("pid") = all[i].at("pid");
    event.at("tid") = all[i].at("tid");
    EXPECT_EQ(event, all[i]);
  }
  EXPECT_EQ(ranks_of_process.size(), 4u);
  EXPECT_EQ(merged.at("schemaVersion"), 1);
  EXPECT_EQ(merged.at("traceName"), "a \"run\", \"pid\": 9,");

  const Json& info = merged.at("distributedInfo");
  EXPECT_FALSE(info.contains("rank"));
  EXPECT_EQ(info.at("backend"), "mpi");
  EXPECT_EQ(info.at("world_size"), 4);
  EXPECT_EQ(info.at("pg_count"), 3);
  std::vector<std::string> groups;
  for (const Json& group : info.at("pg_config"))
    groups.push_back(group.at("pg_name").get<std::string>() + " " + group.at("pg_desc").get<std::string>() +
                     " " + group.at("ranks").dump());
  EXPECT_THAT(groups, ElementsAre("0 default_pg [0,1,2,3]", "1 dp [0,1]", "2 dp [2,3]"));
}

TEST_F(KinetoMerge, ProcessesThreadsAndEventsAreDistinctAndTimesOnOneClock) {
  merge();
  const Json merged = Json::parse(read_text(folder_ / "merged"));
  std::map<int, std::string> processes;
  std::map<int, int> ranks;
  std::map<int, int> process_of_thread;
  std::map<int, double> first;  // by rank
  std::set<std::int64_t> records;
  for (const Json& event : merged.at("traceEvents")) {
    const int process = event.at("pid");
    if (event.at("name") == "process_name") processes[process] = event.at("args").at("name");
    if (event.at("name") == "process_sort_index") ranks[process] = event.at("args").at("sort_index");
    if (event.at("ph") == "M") continue;
    const auto [thread, fresh] = process_of_thread.emplace(event.at("tid").get<int>(), process);
    EXPECT_EQ(thread->second, process) << event.dump();
    EXPECT_TRUE(records.insert(event.at("args").at("Ev Idx").get<std::int64_t>()).second) << event.dump();
    first.emplace(ranks.at(process), event.at("ts"));
  }
  ASSERT_EQ(processes.size(), 4u);
  for (const auto& [process, name] : processes)
    EXPECT_EQ(name, "nadi rank " + std::to_string(ranks.at(process))) << process;
  EXPECT_EQ(process_of_thread.size(), 4u * 4u);  // one computes, three communicate
  // Each step begins with the record; a double of some 10^12 us is exact to 1/4096 of one.
  for (const int rank : {1, 2, 3}) EXPECT_NEAR(first[rank] - first[0], rank, 0.001);
}

// Files of older versions number processes by rank, and threads side by side.
TEST_F(KinetoMerge, TakesFilesWhoseProcessesAreRanks) {
  const std::string process = std::to_string(getpid());
  Json all = Json::array();
  for (std::size_t rank = 0; rank < paths_.size(); ++rank) {
    std::string text = read_text(paths_[rank]);
    const std::string from = "\"pid\": " + process + ", ", to = "\"pid\": " + std::to_string(rank) + ", ";
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, from.size(), to);
    write_text(paths_[rank], text);
    const Json document = Json::parse(text);
    for (const Json& event : document.at("traceEvents")) all.push_back(event);
  }
  merge();
  EXPECT_TRUE(Json::parse(read_text(folder_ / "merged")).at("traceEvents") == all);
}

// In the file as written: of each thread, complete events lie one in the other or apart, also when a viewer
// adds start and duration as doubles.
TEST_F(KinetoMerge, EventsNest) {
  merge();
  const Json merged = Json::parse(read_text(folder_ / "merged"));
  std::map<std::pair<int, int>, std::vector<double>> open;  // ends of the events around
  std::size_t events = 0;
  for (const Json& event : merged.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++events;
    std::vector<double>& ends = open[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    const double start = event.at("ts"), end = start + event.at("dur").get<double>();
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    if (!ends.empty()) {
      ASSERT_LT(end, ends.back()) << event.dump();
    }
    ends.push_back(end);
  }
  // Each rank has: step, phase, layer, two kernels, and two for each of three transfers.
  EXPECT_EQ(events, 4u * 11u);
}

TEST_F(KinetoMerge, TheSameFilesGiveTheSameBytesAndNothingIsOverwrittenUnasked) {
  merge();
  const std::string once = read_text(folder_ / "merged");
  EXPECT_THROW(merge(Overwrite::kRefuse), Error);
  merge();
  EXPECT_EQ(read_text(folder_ / "merged"), once);
}

TEST_F(KinetoMerge, AFileThatIsNotOursIsRefused) {
  EXPECT_THAT(error_for(""), HasSubstr("kineto.1:1: not a Kineto trace of a rank as Nadi writes it"));
  EXPECT_THAT(error_for("\x0a\x05hello"), HasSubstr("expected a field of its head"));
  EXPECT_THAT(error_for("{\"traceEvents\": []}\n"), HasSubstr("ends too early"));
  // As PyTorch lays it out: an event over several lines.
  EXPECT_THAT(error_for("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n  ],\n"),
              HasSubstr("kineto.1:4: "));
  EXPECT_THAT(error_for("{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n  ],\n"),
              HasSubstr("it has no distributedInfo"));
}

TEST_F(KinetoMerge, ADamagedFileIsRefused) {
  const std::string whole = read_text(paths_[1]);
  // Cut at any line, or in it.
  for (std::size_t cut = whole.find('\n'); cut + 1 < whole.size(); cut = whole.find('\n', cut + 1)) {
    EXPECT_NE(error_for(whole.substr(0, cut + 1)), "") << cut;
    EXPECT_NE(error_for(whole.substr(0, cut > 7 ? cut - 7 : 1)), "") << cut;
  }
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string text = whole;
    text.replace(text.find(old), old.size(), other);
    return text;
  };
  const std::string process = std::to_string(getpid());
  EXPECT_THAT(error_for(with("\"pid\": " + process, "\"pid\": 12345678901234")),
              HasSubstr("expected an event of a process"));
  EXPECT_THAT(error_for(with("}},\n", "}}\n")), HasSubstr("an event follows the last one"));
  EXPECT_THAT(error_for(with("\n  ],\n  \"traceName\"", ",\n  ],\n  \"traceName\"")),
              HasSubstr("expected an event"));
  EXPECT_THAT(error_for(whole + "more\n"), HasSubstr("expected its end"));
  EXPECT_THAT(error_for(with("\"rank\": 1", "\"rank\": 7")), HasSubstr("rank 7 is not one of 4"));
  EXPECT_THAT(error_for(with("\"rank\": 1", "\"rank\": \"1\"")), HasSubstr("kineto.1:"));
}

TEST_F(KinetoMerge, FilesOfOtherRunsAreRefused) {
  const std::string whole = read_text(paths_[1]);
  EXPECT_THAT(error_for(read_text(paths_[0])), HasSubstr("two files are of rank 0"));
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string text = whole;
    text.replace(text.find(old), old.size(), other);
    return text;
  };
  EXPECT_THAT(error_for(with("\"world_size\": 4", "\"world_size\": 8")), HasSubstr("of another run"));
  EXPECT_THAT(error_for(with("\"baseTimeNanoseconds\": 1", "\"baseTimeNanoseconds\": 2")),
              HasSubstr("of another run"));
  EXPECT_THAT(error_for(with("\"ranks\": [0, 1]", "\"ranks\": [1, 0]")),
              HasSubstr("process group 1 has different ranks in"));
  fs::remove(paths_[1]);
  EXPECT_THROW(merge(), Error);
}

}  // namespace
}  // namespace nadi::inline traces
