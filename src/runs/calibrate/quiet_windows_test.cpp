#include "nadi/calibrate/quiet_windows.h"

#include <gtest/gtest.h>

#include "nadi/comm/single_process.h"

namespace nadi::inline runs {
namespace {

constexpr Nanoseconds kSecond{1'000'000'000};

// Says what the test wants of the processors: each window of 4 s has the next share of others.
class Machine {
 public:
  explicit Machine(std::vector<double> shares) : shares_(std::move(shares)) {}
  std::optional<ProcessorUse> operator()() {
    if (calls_++ % 2 == 0) return now_;
    const auto others = static_cast<std::int64_t>(4e9 * shares_[std::min(window_++, shares_.size() - 1)]);
    now_ += {.elapsed = 4 * kSecond, .busy = 3 * kSecond + Nanoseconds{others}, .own = 3 * kSecond};
    return now_;
  }

 private:
  std::vector<double> shares_;
  std::size_t calls_ = 0, window_ = 0;
  ProcessorUse now_ = {};
};

TEST(QuietWindows, RefusesDisturbedOnesAsLongAsThereIsTime) {
  SingleProcess world;
  QuietWindows quiet(world, 3 * kSecond, Machine({0.01, 0.03, 0.5, 0.1, 0.0}));
  const auto window = [&] {
    quiet.begin();
    return quiet.end(2);
  };
  EXPECT_TRUE(window());
  EXPECT_FALSE(window());
  EXPECT_NEAR(quiet.latest_share(), 0.03, 1e-6);
  EXPECT_TRUE(quiet.has_patience()) << "2 of 3 s";
  EXPECT_FALSE(window());
  EXPECT_FALSE(quiet.has_patience());
  EXPECT_TRUE(window()) << "disturbed, and there is no time left";
  EXPECT_TRUE(window());
  EXPECT_EQ(quiet.conditions(), (MeasuringConditions{.judged = 5, .dropped = 2, .disturbed = 1}));
}

TEST(QuietWindows, JudgesNothingThatIsShortOrUnknown) {
  SingleProcess world;
  QuietWindows quiet(world, kSecond, [] { return std::optional<ProcessorUse>(ProcessorUse{}); });
  EXPECT_TRUE(quiet.wants_more(0));
  EXPECT_FALSE(quiet.wants_more(3));
  quiet.begin();
  EXPECT_TRUE(quiet.end(0.1));
  QuietWindows silent(world, kSecond, [] { return std::optional<ProcessorUse>(); });
  silent.begin();
  EXPECT_TRUE(silent.end(5));
  EXPECT_EQ(silent.conditions().judged, 0);
  QuietWindows indifferent(world, {}, Machine({0.5}));
  EXPECT_FALSE(indifferent.wants_more(0));
  indifferent.begin();
  EXPECT_TRUE(indifferent.end(2));
  EXPECT_EQ(indifferent.conditions(), MeasuringConditions{});
}

}  // namespace
}  // namespace nadi::inline runs
