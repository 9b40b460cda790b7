#include "nadi/comm/clock_offset.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "nadi/comm/single_process.h"

namespace nadi::inline engines {
namespace {

// Two ranks seen from rank 1: the question takes `there` nanoseconds, the answer `back`, and rank 0's clock
// is behind by `behind`. Every exchange is slower than the one before.
class Rank1 : public SingleProcess {
 public:
  Rank1(std::int64_t there, std::int64_t back, std::int64_t behind)
      : there_(there), back_(back), behind_(behind) {}

  Nanoseconds clock() const { return Nanoseconds{now_}; }
  int exchanges() const { return exchanges_; }

  Rank rank() const override { return Rank{1}; }
  std::int64_t size() const override { return 2; }
  CommRequest send(CommLine /*line*/, std::int64_t peer, std::int64_t /*tag*/,
                   std::span<const std::byte> /*bytes*/) override {
    EXPECT_EQ(peer, 0);
    now_ += there_ + 1000 * exchanges_;
    answer_ = now_ - behind_;
    return {};
  }
  CommRequest receive(CommLine /*line*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                      std::span<std::byte> bytes) override {
    now_ += back_ + 3000 * exchanges_++;
    std::memcpy(bytes.data(), &answer_, sizeof(answer_));
    return {};
  }

 private:
  std::int64_t there_, back_, behind_;
  std::int64_t now_ = 1'000'000;
  std::int64_t answer_ = 0;
  int exchanges_ = 0;
};

TEST(ClockOffset, is_exact_where_both_ways_take_equally_long) {
  Rank1 world(400, 400, 12'345);
  EXPECT_EQ(measure_clock_offset(world, [&] { return world.clock(); }), Nanoseconds{12'345});
  EXPECT_EQ(world.exchanges(), 100);
}

TEST(ClockOffset, may_be_negative) {
  Rank1 world(400, 400, -77);
  EXPECT_EQ(measure_clock_offset(world, [&] { return world.clock(); }), Nanoseconds{-77});
}

// In a round trip of 800 the answer was made after 600, not 400: 200 wrong. Slower exchanges would be worse.
TEST(ClockOffset, is_wrong_by_half_the_difference) {
  Rank1 world(600, 200, 12'345);
  EXPECT_EQ(measure_clock_offset(world, [&] { return world.clock(); }), Nanoseconds{12'345 - 200});
}

TEST(ClockOffset, of_rank_0_is_nothing) {
  SingleProcess world;
  EXPECT_EQ(measure_clock_offset(world), Nanoseconds{0});
}

}  // namespace
}  // namespace nadi::inline engines
