#include "nadi/terminal/progress_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class ProgressLineTest : public testing::Test {
 protected:
  Clock clock() {
    return [this] { return now_; };
  }
  void at(std::int64_t milliseconds) { now_ = Nanoseconds{milliseconds * (kSecond / 1000)}; }
  std::string taken() {
    std::string text = err_.str();
    err_.str("");
    return text;
  }

  std::ostringstream out_, err_;
  Nanoseconds now_;
  Console console_{.out = out_, .err = err_, .terminal_err = true};
};

TEST_F(ProgressLineTest, SaysHowLongItWillTake) {
  {
    ProgressLine line(console_, "ranks", clock());
    at(999);
    line.update(100, 1024);
    EXPECT_EQ(taken(), "") << "the first second";
    at(2000);
    line.update(256, 1024);  // 2 s for a quarter, so 6 s for the rest, rounded up
    EXPECT_EQ(taken(), "\r\033[K256 of 1,024 ranks, 7 s left");
    at(2100);
    line.update(300, 1024);
    EXPECT_EQ(taken(), "") << "not ten times a second";
    at(100'000);
    line.update(512, 1024);  // 100 s for the other half
    EXPECT_EQ(taken(), "\r\033[K512 of 1,024 ranks, 1 min 41 s left");
  }
  EXPECT_EQ(taken(), "\r\033[K");
}

TEST_F(ProgressLineTest, IsCutToTheWidth) {
  set_output_width(err_, 40);
  ProgressLine line(console_, "candidates of plans", clock());
  at(2000);
  line.show(256, 1024, ", best 12.3 ms with --tp 2 --pp 4");
  EXPECT_EQ(taken(), "\r\033[K256 of 1,024 candidates of plans, 7 ...");
}

TEST_F(ProgressLineTest, IsSilentWhenNobodyWatches) {
  console_.terminal_err = false;
  {
    ProgressLine line(console_, "ranks", clock());
    at(5000);
    line.update(1, 2);
  }
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressLineTest, LeavesNoTraceWhenItWasQuick) {
  { ProgressLine(console_, "ranks", clock()).update(1, 1); }
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressLineTest, NoticesInterrupts) {
  Interruption interruption;
  interruption.ask();
  console_.interruption = &interruption;
  ProgressLine line(console_, "ranks", clock());
  EXPECT_THROW(line.update(1, 2), Interrupted);
}

}  // namespace
}  // namespace nadi::inline show
