// Traces that PyTorch wrote, in pairs and each profile alone.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "nadi/base/json.h"
#include "nadi/convert/profile_for_tests.h"
#include "nadi/input/chunked_input.h"
#include "nadi/recording/trace_kineto_writer.h"
#include "nadi/testing/source_folder.h"
#include "nadi/trace/trace_check.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

struct RealProfile {
  const char* name;
  std::uint64_t host_nodes;
  std::uint64_t matched;
  std::uint64_t device_ops;
  std::uint64_t collectives;
};
// Counted with a script over the files.
constexpr RealProfile kProfiles[] = {
    {.name = "gpt2_b4_t512", .host_nodes = 7087, .matched = 7083, .device_ops = 1191, .collectives = 0},
    {.name = "bert_b4_t384_ddp", .host_nodes = 10194, .matched = 10190, .device_ops = 1602, .collectives = 0},
    {.name = "resnet_2gpu", .host_nodes = 14391, .matched = 14388, .device_ops = 3774, .collectives = 21},
};

std::filesystem::path file_of(const RealProfile& profile, std::string_view half) {
  const std::string start = format("{}/traces/{}_{}.json", shared_data().string(), profile.name, half);
  for (const std::string_view end : {"", ".gz", ".zst"})
    if (std::filesystem::exists(start + std::string(end))) return start + std::string(end);
  return {};
}

class RealProfiles : public testing::TestWithParam<std::tuple<RealProfile, bool>> {
 protected:
  void SetUp() override {
    const auto& [profile, with_host] = GetParam();
    const std::filesystem::path device = file_of(profile, "device");
    const std::filesystem::path host = file_of(profile, "host");
    if (device.empty() || host.empty()) GTEST_SKIP() << "the real traces are not on this machine";
    ConversionSource source{.kineto = std::make_shared<const KinetoTrace>(read_kineto(device))};
    if (with_host) source.host = std::make_shared<const HostTrace>(read_host_trace(host));
    source_ = source;
    converted_ = std::make_unique<Converted>(source);
  }

  ConversionSource source_;
  std::unique_ptr<Converted> converted_;
};

TEST_P(RealProfiles, EveryOpHasItsPartner) {
  const auto& [profile, with_host] = GetParam();
  const ConversionReport& report = converted_->report();
  EXPECT_EQ(report.by_correlation, profile.device_ops);
  EXPECT_EQ(report.by_external_id, 0);
  EXPECT_EQ(report.without_launch, 0);
  EXPECT_EQ(report.yielded_inferred + report.yielded_recorded, 0);
  EXPECT_EQ(report.collectives, profile.collectives);
  EXPECT_EQ(report.host_nodes, with_host ? profile.host_nodes : 0);
  EXPECT_EQ(report.matched, with_host ? profile.matched : 0);
  EXPECT_EQ(report.unmatched_events, 0);
  EXPECT_EQ(report.removed_dependencies, 0);
}

TEST_P(RealProfiles, IsWellFormed) {
  EXPECT_NO_THROW(check_trace(converted_->nodes));
  // And each node comes after those that it waits for.
  const Trace& nodes = converted_->nodes;
  const TraceIndex index(nodes);
  for (std::uint32_t row = 0; row < nodes.size(); ++row)
    for (const auto ids : {nodes.ctrl_deps(row), nodes.data_deps(row)})
      for (const TraceNodeId id : ids) ASSERT_LT(index.row_of(id), row);
}

TEST_P(RealProfiles, EveryMatchHasItsTimes) {
  if (source_.host == nullptr) return;
  const Trace& nodes = converted_->nodes;
  const TraceIndex index(nodes);
  std::map<std::uint64_t, std::uint32_t> events;
  for (std::uint32_t row = 0; row < source_.kineto->record_function.size(); ++row)
    if (source_.kineto->record_function[row] != 0) events[source_.kineto->record_function[row]] = row;
  std::uint64_t matched = 0;
  for (std::size_t row = 0; row < source_.host->nodes.size(); ++row) {
    const auto event = events.find(source_.host->record_function[row]);
    if (event == events.end()) continue;
    ++matched;
    const auto node = index.row_of(source_.host->nodes.id(row));
    ASSERT_TRUE(node);
    EXPECT_EQ(nodes.start(*node), source_.kineto->events.start(event->second));
    const auto inclusive = nodes.find_attribute(*node, "inclusive_ns");
    ASSERT_TRUE(inclusive);
    EXPECT_EQ(inclusive->integer(), source_.kineto->events.duration(event->second).count());
  }
  EXPECT_EQ(matched, std::get<0>(GetParam()).matched);
}

// Arrows are found again by what nodes say; the profile's own say whether that is right.
TEST_P(RealProfiles, ATimelineHasTheArrowsOfTheProfile) {
  const std::filesystem::path device = file_of(std::get<0>(GetParam()), "device");
  ChunkedInput input(device);
  std::string text;
  for (std::string_view more = input.ahead(1); !more.empty(); more = input.ahead(1)) {
    text += more;
    input.consume(more.size());
  }
  std::string written;
  converted_->nodes.metadata = converted_->metadata();
  write_trace_kineto(converted_->nodes, {}, [&](std::string_view part) { written += part; });
  const Json profile = Json::parse(text), timeline = Json::parse(written);
  EXPECT_EQ(timeline.at("baseTimeNanoseconds"), profile.at("baseTimeNanoseconds"));

  using Arrow = std::pair<double, double>;
  const auto arrows = [](const Json& document, std::string_view name) {
    std::map<std::int64_t, double> from, to;
    for (const Json& event : document.at("traceEvents")) {
      if (event.value("cat", "") != name) continue;
      (event.at("ph") == "s" ? from : to)[event.at("id").get<std::int64_t>()] = event.at("ts");
    }
    std::set<Arrow> both;  // the profile has starts and ends alone, too
    for (const auto& [id, start] : from)
      if (to.contains(id)) both.emplace(start, to[id]);
    return both;
  };
  EXPECT_EQ(arrows(timeline, "fwdbwd"), arrows(profile, "fwdbwd"));
  EXPECT_EQ(arrows(timeline, "ac2g"), arrows(profile, "ac2g"));
  std::set<std::string> processes, of_profile;
  for (const Json& event : profile.at("traceEvents"))
    if (event.at("name") == "process_name")
      of_profile.insert(event.at("pid").dump() + event.at("args").at("name").dump());
  for (const Json& event : timeline.at("traceEvents"))
    if (event.at("name") == "process_name")
      processes.insert(event.at("pid").dump() + event.at("args").at("name").dump());
  EXPECT_THAT(processes, testing::SizeIs(testing::Ge(2u)));
  EXPECT_THAT(of_profile, testing::IsSupersetOf(processes));
}

TEST_P(RealProfiles, AReplayTakesAsLongAsTheRunDid) {
  const Trace& nodes = converted_->nodes;
  const Replay replay = replay_trace(nodes, TraceDependencies(nodes));
  const auto recorded = static_cast<double>(converted_->report().span.count());
  const double off = static_cast<double>(replay.span.count()) / recorded - 1;
  EXPECT_LT(std::abs(off), 0.001);
  Nanoseconds first = nodes.start(nodes.size() - 1);
  for (std::size_t row = 0; row < nodes.size(); ++row)
    if (nodes.start(row).count() > 0) first = std::min(first, nodes.start(row));
  double sum = 0;
  double worst = 0;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    if (nodes.start(row).count() == 0) continue;
    const auto moved = static_cast<double>((replay.starts[row] - (nodes.start(row) - first)).count());
    sum += std::abs(moved);
    worst = std::max(worst, std::abs(moved));
  }
  EXPECT_LT(worst, 500e3);
  std::cout << format(
      "replayed in {:+.3f}% of {:.1f} ms; starts are off by {:.1f} us on average, {:.1f} at most\n",
      100 * off, recorded / 1e6, sum / 1e3 / static_cast<double>(nodes.size()), worst / 1e3);
}

TEST_P(RealProfiles, TheSameFilesGiveTheSameNodes) {
  const Converted again(source_);
  ASSERT_EQ(again.nodes.size(), converted_->nodes.size());
  TraceNode a;
  TraceNode b;
  for (std::size_t row = 0; row < again.nodes.size(); ++row) {
    again.nodes.get(row, a);
    converted_->nodes.get(row, b);
    ASSERT_EQ(a, b);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, RealProfiles, testing::Combine(testing::ValuesIn(kProfiles), testing::Bool()),
                         [](const auto& parameter) {
                           return format("{}_{}", std::get<0>(parameter.param).name,
                                         std::get<1>(parameter.param) ? "with_host" : "alone");
                         });

}  // namespace
}  // namespace nadi::inline traces
