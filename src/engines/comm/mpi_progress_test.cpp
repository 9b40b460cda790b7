// Requests go on while the rank computes.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "nadi/comm/mpi_world_for_tests.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {
namespace {

// Long enough for all ranks to get a core several times, also where there are fewer cores than ranks.
constexpr Nanoseconds kComputation{400'000'000};

void compute_until(Nanoseconds end) {
  volatile double sum = 0;
  while (steady_time() < end)
    for (int i = 0; i < 1000; ++i) sum = sum + 1;
}

TEST(Progress, is_made_while_the_rank_computes) {
  std::vector<float> gradients(20'000, 1.0F);
  test_world().barrier(kWorld);
  const Nanoseconds start = steady_time();
  const CommRequest request = test_world().all_reduce(
      kWorld, {std::as_writable_bytes(std::span(gradients)), DType::kF32}, ReduceOp::kSum);
  compute_until(start + kComputation);
  const Nanoseconds end = steady_time();
  const std::optional<Nanoseconds> done = test_world().test(request);
  ASSERT_TRUE(done.has_value());
  EXPECT_GE(*done, start);
  EXPECT_LT(*done, end);
  EXPECT_EQ(gradients, std::vector<float>(gradients.size(), static_cast<float>(test_world().size())));
}

// Nothing comes before it is sent: rank 0 sends its last message 50 ms after the others wait for it.
TEST(Progress, is_not_claimed_before_its_time) {
  std::int64_t number = 42;
  const auto bytes = std::as_writable_bytes(std::span(&number, 1));
  test_world().barrier(kWorld);
  const Nanoseconds start = steady_time();
  constexpr Nanoseconds kDelay{50'000'000};
  if (test_world().rank() == Rank{0}) {
    compute_until(start + kDelay);
    for (std::int64_t rank = 1; rank < test_world().size(); ++rank)
      test_world().wait(test_world().send(kWorld, rank, 0, bytes));
  } else {
    number = 0;
    const CommRequest request = test_world().receive(kWorld, 0, 0, bytes);
    EXPECT_FALSE(test_world().test(request).has_value() && steady_time() - start < kDelay);
    test_world().wait(request);
    EXPECT_EQ(number, 42);
  }
}

// A second look at a request would find another's.
TEST(Progress, requests_are_forgotten_when_done) {
  std::int64_t number = 1;
  const CommRequest request = test_world().all_reduce(
      kWorld, {std::as_writable_bytes(std::span(&number, 1)), DType::kI64}, ReduceOp::kSum);
  while (!test_world().test(request)) {
  }
  EXPECT_EQ(number, test_world().size());
}

}  // namespace
}  // namespace nadi::inline engines
