#include "nadi/comm/single_process.h"

#include <gtest/gtest.h>

#include <vector>

#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {
namespace {

std::span<std::byte> bytes_of(std::vector<float>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

TEST(SingleProcess, has_nothing_to_combine_with) {
  SingleProcess world;
  const std::vector<float> numbers{1, 2.5F, -3};
  std::vector<float> buffer = numbers;
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMaximum}) {
    world.wait(world.all_reduce(kWorld, {bytes_of(buffer), DType::kF32}, op));
    world.wait(world.reduce(kWorld, {bytes_of(buffer), DType::kF32}, op, 0));
  }
  world.wait(world.broadcast(kWorld, bytes_of(buffer), 0));
  EXPECT_EQ(buffer, numbers);
}

TEST(SingleProcess, has_parts_that_are_the_whole) {
  SingleProcess world;
  const Rank self[] = {Rank{0}};
  const CommGroup group = world.add_group(self);
  EXPECT_NE(group, kWorld);
  std::vector<float> from{1, 2}, to(2);
  world.wait(world.all_gather(group, bytes_of(from), bytes_of(to)));
  EXPECT_EQ(to, from);
  to.assign(2, 0);
  world.wait(world.reduce_scatter(group, {bytes_of(from), DType::kF32}, bytes_of(to), ReduceOp::kSum));
  EXPECT_EQ(to, from);
  to.assign(2, 0);
  world.wait(world.all_to_all(group, bytes_of(from), bytes_of(to)));
  EXPECT_EQ(to, from);
  world.wait(world.all_gather(group, bytes_of(from), bytes_of(from)));
  EXPECT_EQ(to, from);
}

TEST(SingleProcess, is_done_at_once) {
  SingleProcess world;
  const Nanoseconds before = steady_time();
  const CommRequest request = world.all_reduce(kWorld, {}, ReduceOp::kSum);
  const Nanoseconds after = steady_time();
  const std::optional<Nanoseconds> done = world.test(request);
  ASSERT_TRUE(done.has_value());
  EXPECT_GE(*done, before);
  EXPECT_LE(*done, after);
}

TEST(SingleProcessDeathTest, has_nobody_to_send_to) {
  SingleProcess world;
  EXPECT_DEATH(world.send(kWorld, 0, 0, {}), "nobody to send to");
}

}  // namespace
}  // namespace nadi::inline engines
