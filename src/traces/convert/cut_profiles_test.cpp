// Real profiles of which a part is missing: a profiler may start at any moment, and see less than everything.
// Whatever is left must convert, be well formed, and replay within 5% of what was recorded.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <random>

#include "nadi/convert/profile_cutter_for_tests.h"
#include "nadi/convert/profile_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {
namespace {

constexpr int kMoments = 50;
constexpr double kMostOff = 0.05;

std::filesystem::path file_of(std::string_view name, std::string_view half) {
  return format("{}/traces/{}_{}.json.gz", shared_data().string(), name, half);
}

// Whole pairs are read once for all tests.
struct Pair {
  std::shared_ptr<const KinetoTrace> kineto;
  std::shared_ptr<const HostTrace> host;
};
const Pair& read_pair(const std::string& name) {
  static std::map<std::string, Pair> pairs;
  Pair& pair = pairs[name];
  if (pair.kineto == nullptr) {
    pair.kineto = std::make_shared<const KinetoTrace>(read_kineto(file_of(name, "device")));
    pair.host = std::make_shared<const HostTrace>(read_host_trace(file_of(name, "host")));
  }
  return pair;
}

class CutProfiles : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(file_of(GetParam(), "device")))
      GTEST_SKIP() << "the real traces are not on this machine";
    const Pair& pair = read_pair(GetParam());
    kineto_ = pair.kineto.get();
    host_ = pair.host;
    for (std::uint32_t row = 0; row < kineto_->events.size(); ++row) {
      if (!becomes_node(row)) continue;
      first_ = std::min(first_, kineto_->events.start(row));
      last_ = std::max(last_, kineto_->events.start(row));
    }
  }

  bool becomes_node(std::uint32_t row) const {
    const KinetoCategory category = kineto_->category[row];
    return is_device_work(category) || is_call_for_tests(*kineto_, row) ||
           category == KinetoCategory::kCpuOp || category == KinetoCategory::kUserAnnotation;
  }

  // The profile without what began before the moment. Work of the device that was running then may be there.
  KinetoTrace begun_at(Nanoseconds moment, bool with_running) const {
    return cut_profile(*kineto_, [&](std::uint32_t row) {
      const Nanoseconds start = kineto_->events.start(row);
      const bool runs = is_device_work(kineto_->category[row]) &&
                        start + kineto_->events.duration(row) > moment && with_running;
      return start >= moment || runs;
    });
  }

  ConversionReport expect_converts(KinetoTrace cut, std::shared_ptr<const HostTrace> host) {
    const Converted converted({.kineto = std::make_shared<const KinetoTrace>(std::move(cut)), .host = host});
    EXPECT_NO_THROW(check_trace(converted.nodes));
    const Replay replay = replay_trace(converted.nodes, TraceDependencies(converted.nodes));
    const auto recorded = static_cast<double>(converted.report().span.count());
    const double off = std::abs(static_cast<double>(replay.span.count()) / recorded - 1);
    EXPECT_LT(off, kMostOff) << "of " << recorded / 1e6 << " ms";
    worst_ = std::max(worst_, off);
    ++conversions_;
    return converted.report();
  }

  void TearDown() override {
    if (conversions_ > 0)
      std::cout << format("{} conversions, replays off by {:.2f}% at most\n", conversions_, 100 * worst_);
  }

  const KinetoTrace* kineto_ = nullptr;
  std::shared_ptr<const HostTrace> host_;
  Nanoseconds first_{std::numeric_limits<std::int64_t>::max()};
  Nanoseconds last_;
  double worst_ = 0;
  int conversions_ = 0;
};

TEST_P(CutProfiles, ConvertWhereverTheyBegin) {
  std::mt19937_64 random(2026);
  std::uint64_t without_launch = 0;
  for (int i = 0; i < kMoments; ++i) {
    const Nanoseconds moment = first_ + Nanoseconds{static_cast<std::int64_t>(
                                            random() % static_cast<std::uint64_t>((last_ - first_).count()))};
    SCOPED_TRACE(format("moment {}: {} ns of {}", i, (moment - first_).count(), (last_ - first_).count()));
    const bool with_running = i % 2 == 0;
    KinetoTrace cut = begun_at(moment, with_running);
    // The profile alone, with an observer that was started with it, and with one that was started before.
    std::shared_ptr<const HostTrace> host;
    if (i % 3 == 1) host = std::make_shared<const HostTrace>(cut_host(*host_, *kineto_, cut));
    if (i % 3 == 2) host = host_;
    const ConversionReport report = expect_converts(std::move(cut), host);
    EXPECT_EQ(report.unmatched_events, 0);
    EXPECT_EQ(report.yielded_inferred + report.yielded_recorded, 0);
    without_launch += report.without_launch;
  }
  EXPECT_GT(without_launch, 0);
}

// What is moved by a replay, since it is short, must not be much of a short profile.
TEST_P(CutProfiles, ConvertWhenLittleIsLeft) {
  constexpr std::uint64_t kLittle = 3'000'000;
  std::mt19937_64 random(11);
  for (int i = 0; i < kMoments; ++i) {
    const Nanoseconds moment = last_ - Nanoseconds{static_cast<std::int64_t>(random() % kLittle)};
    SCOPED_TRACE(format("moment {}: {} ns before the last start", i, (last_ - moment).count()));
    expect_converts(begun_at(moment, /*with_running=*/i % 2 == 0), nullptr);
  }
}

TEST_P(CutProfiles, ConvertWithoutALane) {
  for (std::uint32_t lane = 0; lane < kineto_->lanes.size(); ++lane) {
    SCOPED_TRACE(format("lane {}", lane));
    const auto is_kept = [&](std::uint32_t row) { return kineto_->lane[row] != lane; };
    KinetoTrace cut = cut_profile(*kineto_, is_kept);
    expect_converts(std::move(cut), nullptr);
  }
}

TEST_P(CutProfiles, ConvertWithoutTheirFirstLaunches) {
  for (const std::uint32_t count : {1U, 10U, 100U, 500U, 1'000'000U}) {
    SCOPED_TRACE(format("{} launches", count));
    std::vector<std::uint32_t> calls;
    for (std::uint32_t row = 0; row < kineto_->events.size(); ++row)
      if (is_call_for_tests(*kineto_, row)) calls.push_back(row);
    std::ranges::stable_sort(calls, {}, [&](std::uint32_t row) { return kineto_->events.start(row); });
    calls.resize(std::min<std::size_t>(calls.size(), count));
    std::ranges::sort(calls);
    const auto is_kept = [&](std::uint32_t row) { return !std::ranges::binary_search(calls, row); };
    const auto is_kernel = [&](std::uint32_t row) { return is_device_work(kineto_->category[row]); };
    expect_converts(cut_profile(*kineto_, is_kept), host_);
    if (count == 1) expect_converts(cut_profile(*kineto_, is_kept, is_kernel), host_);
  }
}

// The first part of a profile, and a part of every kind of id.
TEST_P(CutProfiles, ConvertWhereverTheyEndAndWhateverTheyForget) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10; ++i) {
    const Nanoseconds moment = first_ + Nanoseconds{static_cast<std::int64_t>(
                                            random() % static_cast<std::uint64_t>((last_ - first_).count()))};
    SCOPED_TRACE(format("moment {}: {} ns", i, (moment - first_).count()));
    const auto ended = [&](std::uint32_t row) {
      return kineto_->events.start(row) + kineto_->events.duration(row) <= moment;
    };
    expect_converts(cut_profile(*kineto_, ended), host_);
    const auto all = [](std::uint32_t) { return true; };
    const auto some = [&](std::uint32_t row) {
      return is_device_work(kineto_->category[row]) && random() % 10 == 0;
    };
    expect_converts(cut_profile(*kineto_, all, some), host_);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CutProfiles,
                         testing::Values("gpt2_b4_t512", "bert_b4_t384_ddp", "resnet_2gpu"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace nadi::inline traces
