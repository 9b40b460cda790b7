#include "nadi/draw/timeline_from_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "nadi/analysis/analyze_files.h"
#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/draw/pipeline_from_traces.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string chakra_bytes(const Trace& trace) {
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  return bytes;
}

fs::path write_trace(const fs::path& path, const std::vector<NodeForTests>& nodes) {
  write_text(path, chakra_bytes(*trace_for_tests(nodes)));
  return path;
}

std::vector<std::string> lane_names(const TimelineView& view) {
  std::vector<std::string> names;
  for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane) names.push_back(view.lane(lane).name);
  return names;
}

std::int64_t count_links(const TimelineView& view, TimelineLinkKind kind) {
  return std::ranges::count(view.links(), kind, &TimelineView::Link::kind);
}

NodeForTests message_node(std::uint64_t id, bool sends, std::int32_t peer, std::int64_t start,
                          std::int64_t end) {
  return {.id = id,
          .name = sends ? "send" : "receive",
          .start = start,
          .end = end,
          .type = sends ? NodeType::kCommSend : NodeType::kCommRecv,
          .more = [=](TraceNode& node) {
            add_comm_size(node, 64_B);
            add_comm_tag(node, 3);
            if (sends)
              add_comm_dst(node, peer);
            else
              add_comm_src(node, peer);
          }};
}

// A kernel that a call launched, a collective and a message to rank 1.
std::vector<NodeForTests> nodes_of_rank_0() {
  return {{.id = 1, .name = "launch", .start = 1000, .end = 1100, .host = true, .inclusive = 100},
          {.id = 2, .name = "gemm", .start = 1200, .end = 2000, .data = {1}, .stream = 7},
          {.id = 3,
           .name = "all_reduce",
           .start = 2000,
           .end = 2500,
           .type = NodeType::kCommColl,
           .data = {2},
           .stream = 20,
           .more = collective_for_tests(CollectiveType::kAllReduce, 4096, 0)},
          message_node(4, true, 1, 3000, 3100)};
}
std::vector<NodeForTests> nodes_of_rank_1() {
  return {{.id = 3,
           .name = "all_reduce",
           .start = 2100,
           .end = 2500,
           .type = NodeType::kCommColl,
           .stream = 20,
           .more = collective_for_tests(CollectiveType::kAllReduce, 4096, 0)},
          message_node(4, false, 0, 3050, 3100)};
}

TEST(TimelineFromTraces, LanesEventsAndLinks) {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{write_trace(folder / "run.0.et", nodes_of_rank_0()),
                                    write_trace(folder / "run.1.et", nodes_of_rank_1())};
  TimelineView view;
  const TimelineSummary summary = timeline_from_traces(view, files, {});
  EXPECT_EQ(view.group_count(), 2U);
  EXPECT_EQ(view.group(0).name, "rank 0");
  EXPECT_THAT(lane_names(view), ElementsAre("communication", "stream 7", "stream 20", "idle", "host",
                                            "communication", "stream 20", "idle"));
  EXPECT_EQ(summary.events, 6);
  EXPECT_EQ(summary.launches, 1);
  EXPECT_EQ(summary.messages, 1);
  EXPECT_EQ(summary.collectives, 1);
  EXPECT_EQ(count_links(view, TimelineLinkKind::kLaunch), 1);
  EXPECT_EQ(count_links(view, TimelineLinkKind::kMessage), 1);
  EXPECT_EQ(count_links(view, TimelineLinkKind::kCollective), 1);
  EXPECT_EQ(count_links(view, TimelineLinkKind::kDependency), 1) << "gemm before all_reduce";
  ASSERT_EQ(summary.ranks.size(), 2U);
  // Busy from 1200 to 2500 and from 3000 to 3100: 500 of 1900 idle.
  EXPECT_EQ(summary.ranks[0].span, Nanoseconds{1900});
  EXPECT_EQ(summary.ranks[0].idle, Nanoseconds{500});
  EXPECT_EQ(summary.ranks[0].compute, Nanoseconds{800});
  EXPECT_EQ(summary.ranks[0].communication, Nanoseconds{600});
  EXPECT_EQ(summary.ranks[0].host, Nanoseconds{100});
  EXPECT_EQ(summary.start, Nanoseconds{1000});
  EXPECT_EQ(summary.end, Nanoseconds{3100});
  const TimelineView::Link& message =
      *std::ranges::find(view.links(), TimelineLinkKind::kMessage, &TimelineView::Link::kind);
  EXPECT_EQ(view.events(message.from.lane).starts[message.from.index], 3000);
  EXPECT_EQ(view.events(message.to.lane).starts[message.to.index], 3050);
}

TEST(TimelineFromTraces, Selections) {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{write_trace(folder / "run.0.et", nodes_of_rank_0()),
                                    write_trace(folder / "run.1.et", nodes_of_rank_1())};
  const auto events_of = [&](const TimelineSelection& selection) {
    TimelineView view;
    return timeline_from_traces(view, files, {.selection = selection}).events;
  };
  EXPECT_EQ(events_of({.ranks = parse_number_ranges("1", "ranks")}), 2);
  EXPECT_EQ(events_of({.streams = {"7"}}), 1);
  EXPECT_EQ(events_of({.streams = {"host"}}), 1);
  EXPECT_EQ(events_of({.streams = {"device"}}), 5);
  EXPECT_EQ(events_of({.streams = {"stream 20", "7"}}), 3);
  // Counted from 1000: what overlaps 1600 to 2000.
  EXPECT_EQ(events_of({.from = Nanoseconds{600}, .to = Nanoseconds{1000}}), 2);
  EXPECT_THROW(events_of({.ranks = parse_number_ranges("5", "ranks")}), Error);
  EXPECT_THROW(events_of({.steps = parse_number_ranges("5", "steps")}), Error);
  EXPECT_THROW(events_of({.streams = {"stream 8"}}), Error);
  EXPECT_THROW(events_of({.from = Nanoseconds{1'000'000}}), Error);
}

// Both count from another moment: rank 1's clock stands 500 ns later.
TEST(TimelineFromTraces, ClocksAreAligned) {
  const TemporaryFolder folder;
  std::vector<fs::path> files;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const auto trace = trace_for_tests({{.id = 1, .start = 1000, .end = 2000, .stream = 7}});
    trace->metadata.attributes.add_int64("base_time_ns", 7'000 + 500 * rank);
    files.push_back(folder / format("run.{}.et", rank));
    write_text(files.back(), chakra_bytes(*trace));
  }
  TimelineView view;
  timeline_from_traces(view, files, {});
  EXPECT_EQ(view.events(0).starts[0], 1000);
  EXPECT_EQ(view.events(1).starts[0], 1500);
}

TEST(TimelineFromTraces, ATraceWithoutTimes) {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{write_trace(folder / "dry.0.et", {{.id = 1}, {.id = 2, .data = {1}}})};
  TimelineView view;
  try {
    timeline_from_traces(view, files, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.message(), HasSubstr("no node of this trace has a time"));
    EXPECT_THAT(error.hint(), HasSubstr("run the step"));
  }
}

// The sums of the view are those of the analysis.
void expect_sums_of_analysis(const std::vector<fs::path>& files) {
  TimelineView view;
  const TimelineSummary summary = timeline_from_traces(view, files, {});
  const RunAnalysis run = analyze_files(files, {});
  ASSERT_EQ(summary.ranks.size(), run.ranks.size());
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const Breakdown& breakdown = run.ranks[i].breakdown;
    EXPECT_EQ(summary.ranks[i].compute, breakdown.compute_sum.time);
    EXPECT_EQ(summary.ranks[i].communication, breakdown.communication_sum.time);
    EXPECT_EQ(summary.ranks[i].memory, breakdown.memory_sum.time);
    EXPECT_EQ(summary.ranks[i].span, breakdown.span);
    EXPECT_EQ(summary.ranks[i].idle, breakdown.idle);
  }
  std::map<TimelineKind, std::int64_t> drawn;
  for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane)
    for (std::size_t i = 0; i < view.events(lane).starts.size(); ++i)
      drawn[view.labels()[view.events(lane).labels[i]].kind] += view.events(lane).durations[i];
  std::int64_t compute = 0;
  for (const RankAnalysis& rank : run.ranks) compute += rank.breakdown.compute_sum.time.count();
  EXPECT_EQ(drawn[TimelineKind::kCompute], compute);
}

TEST(TimelineFromTraces, SumsAreThoseOfTheAnalysis) {
  const TemporaryFolder folder;
  std::vector<fs::path> files;
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    files.push_back(write_trace(folder / format("run.{}.et", rank), random_device_nodes(rank, 500, 100'000)));
  expect_sums_of_analysis(files);
}

TEST(TimelineFromTraces, RealProfiles) {
  const fs::path traces = shared_data() / "traces";
  if (!fs::exists(traces)) GTEST_SKIP() << "no " << traces;
  expect_sums_of_analysis({traces / "gpt2_b4_t512_device.json.gz"});
  expect_sums_of_analysis(
      {traces / "bert_b4_t384_ddp_device.json.gz", traces / "bert_b4_t384_ddp_host.json.gz"});
}

TEST(TimelineFromTraces, SampleProfilesOfTwoRanks) {
  const fs::path samples = source_folder() / "examples" / "traces";
  const std::vector<fs::path> files{samples / "run_rank0_device.json", samples / "run_rank1_device.json"};
  expect_sums_of_analysis(files);
  TimelineView view;
  const TimelineSummary summary = timeline_from_traces(view, files, {});
  EXPECT_GT(summary.collectives, 0);
  EXPECT_GT(summary.launches, 0);
}

// Files that were cut or changed are drawn or refused with an Error, never more.
TEST(TimelineFromTraces, DamagedAtRandom) {
  const TemporaryFolder folder;
  const std::string whole = chakra_bytes(*trace_for_tests(random_device_nodes(3, 60, 10'000)));
  std::mt19937 random(11);
  int refused = 0, drawn = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = round % 2 == 0 ? whole.substr(0, random() % whole.size()) : whole;
    for (int i = 0; i < round % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    write_text(folder / "damaged.0.et", bytes);
    const bool lenient = round % 3 == 0;
    try {
      TimelineView view;
      timeline_from_traces(view, {folder / "damaged.0.et"}, {.reading = {.lenient = lenient}});
      ++drawn;
    } catch (const Error&) {
      ++refused;
    }
    try {
      TimelineView view;
      pipeline_from_traces(view, {folder / "damaged.0.et"}, {.reading = {.lenient = lenient}});
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(drawn, 10);
  EXPECT_GT(refused, 10);
}

// Times whose sum does not fit are the file's fault.
TEST(TimelineFromTraces, TimesBeyondAllMeasure) {
  const TemporaryFolder folder;
  constexpr std::int64_t kLate = 9'000'000'000'000'000'000;
  const std::vector<fs::path> files{write_trace(
      folder / "run.0.et",
      {{.id = 1, .start = 1, .end = kLate, .stream = 1}, {.id = 2, .start = 1, .end = kLate, .stream = 2}})};
  TimelineView view;
  try {
    timeline_from_traces(view, files, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
  }
}

// Nodes as our own runs have them.
NodeForTests pipeline_node(std::uint64_t id, std::string phase, std::string section, std::int64_t micro_batch,
                           std::int64_t start, std::int64_t end) {
  return {.id = id, .name = phase + ".op", .start = start, .end = end, .more = [=](TraceNode& node) {
            node.attributes.add_text("phase", phase);
            if (!section.empty()) node.attributes.add_text("section", section);
            node.attributes.add_int64("micro_batch", micro_batch);
            node.attributes.add_int64("step", 3);
          }};
}

TEST(PipelineFromTraces, OpsOfAMicroBatchAreOneBox) {
  const TemporaryFolder folder;
  const auto trace = trace_for_tests(
      {pipeline_node(1, "optimizer", "zero_gradients", 0, 50, 100),
       pipeline_node(2, "forward", "", 0, 100, 200), pipeline_node(3, "forward", "", 0, 210, 300),
       pipeline_node(4, "forward", "forward_1", 0, 300, 400), pipeline_node(5, "backward", "", 0, 500, 700),
       pipeline_node(6, "optimizer", "", 0, 700, 750), pipeline_node(7, "optimizer", "", 0, 760, 800)});
  for (const char* degree : {"tp", "cp", "dp", "pp"}) trace->metadata.attributes.add_text(degree, "1");
  write_text(folder / "run.0.et", chakra_bytes(*trace));
  TimelineView view;
  const PipelineSummary summary = pipeline_from_traces(view, {folder / "run.0.et"}, {});
  EXPECT_EQ(summary.boxes, 3);
  EXPECT_EQ(summary.stages[0].forwards, 2);
  EXPECT_EQ(summary.stages[0].forward, Nanoseconds{300});
  EXPECT_EQ(summary.stages[0].backward, Nanoseconds{200});
  EXPECT_EQ(summary.stages[0].window, Nanoseconds{600});
  EXPECT_EQ(summary.stages[0].bubble, Nanoseconds{100});
  EXPECT_THAT(lane_names(view), ElementsAre("stage 0", "stage 0: optimizer"));
  EXPECT_EQ(view.event_count(1), 2U) << "zero_gradients, optimizer";
}

// Four ranks that name no plan; 0 sends to 1 and 2 to 3.
TEST(PipelineFromTraces, RanksThatExchangeMessagesAreAPipeline) {
  const TemporaryFolder folder;
  std::vector<fs::path> files;
  for (std::int32_t rank = 0; rank < 4; ++rank)
    files.push_back(write_trace(folder / format("run.{}.et", rank),
                                {pipeline_node(1, "forward", "", 0, 100 + rank, 200 + rank),
                                 message_node(2, rank % 2 == 0, rank ^ 1, 300, 301)}));
  TimelineView view;
  const PipelineSummary summary = pipeline_from_traces(view, files, {});
  EXPECT_EQ(summary.pipelines, 2);
  EXPECT_EQ(summary.stages[3].pipeline, 2);
  EXPECT_EQ(summary.stages[3].stage, 1);
  EXPECT_EQ(view.notes.size(), 1U);
}

TEST(PipelineFromTraces, ATraceWithoutMicroBatches) {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{write_trace(folder / "run.0.et", nodes_of_rank_0())};
  TimelineView view;
  EXPECT_THROW(pipeline_from_traces(view, files, {}), Error);
}

}  // namespace
}  // namespace nadi::inline show
