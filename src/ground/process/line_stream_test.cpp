#include "nadi/process/line_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace nadi::inline ground {
namespace {

using testing::ElementsAre;

class LineStreamTest : public testing::Test {
 protected:
  LineStreamTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    lines_ = LineStream(Descriptor(ends[0]));
    writer_ = Descriptor(ends[1]);
  }

  void write(std::string_view text) {
    EXPECT_EQ(::write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::vector<std::string> read() {
    std::vector<std::string> lines;
    lines_.read([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }

  LineStream lines_;
  Descriptor writer_;
};

TEST_F(LineStreamTest, HandsOverWholeLines) {
  EXPECT_THAT(read(), ElementsAre()) << "and does not wait";
  write("one\ntw");
  EXPECT_THAT(read(), ElementsAre("one"));
  write("o\n\nthree\nfo");
  EXPECT_THAT(read(), ElementsAre("two", "", "three"));
  writer_.close();
  EXPECT_TRUE(lines_.is_open());
  EXPECT_THAT(read(), ElementsAre("fo")) << "the rest comes with the end";
  EXPECT_FALSE(lines_.is_open());
  EXPECT_EQ(lines_.descriptor(), -1);
  EXPECT_THAT(read(), ElementsAre());
}

TEST_F(LineStreamTest, CutsLinesWithoutEnd) {
  // 65536 bytes are the longest line, and as much as the pipe holds: the rest is written after the first
  // read.
  const std::string longest(LineStream::kLongestLine, 'a');
  write(longest);
  EXPECT_THAT(read(), ElementsAre(longest));
  write("bc\n");
  EXPECT_THAT(read(), ElementsAre("bc"));
}

}  // namespace
}  // namespace nadi::inline ground
