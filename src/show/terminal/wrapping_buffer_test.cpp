#include "nadi/terminal/wrapping_buffer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace nadi::inline show {
namespace {

class WrappingBufferTest : public testing::Test {
 protected:
  std::string taken() {
    std::string text = target_.str();
    target_.str("");
    return text;
  }

  std::size_t width_ = 44;
  std::stringbuf target_;
  WrappingBuffer buffer_{target_, [this] { return width_; }};
  std::ostream out_{&buffer_};
  const std::string words_ = "nine wordsss of text, and a line of fifty columns";  // 49
};

TEST_F(WrappingBufferTest, WrapsLinesHoweverTheyCome) {
  out_ << "note: " << words_.substr(0, 20);
  EXPECT_EQ(taken(), "") << "the line has not ended";
  out_ << words_.substr(20) << '\n';
  EXPECT_EQ(taken(), "note: nine wordsss of text, and a line of\n      fifty columns\n");
  width_ = 60;
  out_ << "note: " << words_ << '\n';
  EXPECT_EQ(taken(), "note: " + words_ + "\n") << "the window has changed";
}

TEST_F(WrappingBufferTest, LeavesLinesOfProgressAndVerbatimTexts) {
  out_ << kEraseLine << words_ << std::flush;
  EXPECT_EQ(taken(), std::string(kEraseLine) + words_) << "what is flushed has been laid out by somebody";
  out_ << kEraseLine << std::flush << words_ << '\n';
  EXPECT_EQ(taken(), std::string(kEraseLine) + "nine wordsss of text, and a line of fifty\n  columns\n");
  out_ << kEraseLine << words_ << '\n';
  EXPECT_EQ(taken(), std::string(kEraseLine) + "nine wordsss of text, and a line of fifty\n  columns\n");
  out_ << "\033[2J" << words_ << '\n';
  EXPECT_EQ(taken(), "\033[2J" + words_ + "\n") << "the cursor moves";
  {
    const Verbatim verbatim(out_);
    out_ << words_ << '\n';
    EXPECT_EQ(taken(), words_ + "\n");
  }
  out_ << words_ << '\n';
  EXPECT_NE(taken(), words_ + "\n");
}

}  // namespace
}  // namespace nadi::inline show
