#include <gtest/gtest.h>

#include <cstdlib>

#include "nadi/comm/clock_offset.h"
#include "nadi/comm/mpi_world_for_tests.h"

namespace nadi::inline engines {
namespace {

// Processes of one host have the same clock. Each pretends that its own is ahead by so many seconds.
TEST(ClockOffset, between_processes) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ahead = (5 + to_number(test_world().rank())) * kSecond;
  const Nanoseconds offset =
      measure_clock_offset(test_world(), [&] { return steady_time() + Nanoseconds{ahead}; });
  const std::int64_t wanted = to_number(test_world().rank()) * kSecond;
  EXPECT_LT(std::abs(offset.count() - wanted), kSecond / 50) << "the fastest of 100 answers took over 40 ms";
}

}  // namespace
}  // namespace nadi::inline engines
