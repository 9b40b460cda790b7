// A trace that is cut short or damaged gives a message with the byte, never a crash and never a figure that
// looks right. The reader's own tests are exhaustive; this is the way from the file to the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/base/random.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/cli/run_for_tests.h"

namespace nadi::inline show {
namespace {

class DamagedTrace : public testing::Test {
 protected:
  DamagedTrace() {
    write_text("tiny.json", kTinyConfig);
    EXPECT_EQ(run("trace tiny.json --step evaluate -o whole").code, 0);
    bytes_ = read_text("whole.0.et");
  }

  // Where one record ends and the next begins, the end of the file included.
  std::set<std::size_t> boundaries() const {
    ChakraReader reader("whole.0.et");
    std::set<std::size_t> result{bytes_.size()};
    for (TraceNode node; reader.next(node);) result.insert(reader.record_byte());
    return result;
  }

  const WorkingFolder folder_;
  std::string bytes_;
};

TEST_F(DamagedTrace, EveryTruncationIsNoticed) {
  const std::set<std::size_t> whole_records = boundaries();
  EXPECT_GT(whole_records.size(), 10u);
  for (std::size_t length = 0; length <= bytes_.size(); ++length) {
    write_text("cut.et", std::string_view(bytes_).substr(0, length));
    const CliRun done = run_words({"show", "cut.et"});
    if (whole_records.contains(length)) {
      EXPECT_EQ(done.code, 0) << length << " " << done.err;
    } else {
      EXPECT_EQ(done.code, 3) << length;
      EXPECT_EQ(done.out, "") << length;
      EXPECT_TRUE(done.err.starts_with("error: cut.et: byte ")) << length << " " << done.err;
    }
  }
}

TEST_F(DamagedTrace, FlippedBitsNeverCrash) {
  constexpr int kFlips = 500;
  const RandomKey key{.seed = 1, .step = 0, .site = site_of("damaged_trace_test")};
  int refused = 0;
  for (int i = 0; i < kFlips; ++i) {
    std::string damaged = bytes_;
    const std::uint32_t bit =
        random_word(key, static_cast<std::uint64_t>(i)) % static_cast<std::uint32_t>(8 * damaged.size());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_text("flipped.et", damaged);
    const CliRun done = run_words({"show", "flipped.et", "--json"});
    EXPECT_THAT(done.code, testing::AnyOf(0, 3)) << "bit " << bit << " " << done.err;
    if (done.code == 3) {
      ++refused;
      EXPECT_TRUE(done.err.starts_with("error: flipped.et: byte ")) << done.err;
    }
  }
  EXPECT_GT(refused, kFlips / 20);  // most bytes are texts, in which a flip makes another text
}

}  // namespace
}  // namespace nadi::inline show
