// Messages between two members. Ranks form pairs: 0 with 1, 2 with 3, ... Of an odd number the last is left
// out.
#include <gtest/gtest.h>

#include <vector>

#include "nadi/comm/mpi_world_for_tests.h"

namespace nadi::inline engines {
namespace {

std::int64_t own() {
  return to_number(test_world().rank());
}
std::int64_t peer() {
  return own() ^ 1;
}

class Messages : public testing::Test {
 protected:
  void SetUp() override {
    if (peer() >= test_world().size()) GTEST_SKIP() << "this rank has no partner";
  }
};

CommRequest send(std::int64_t tag, const std::vector<std::int64_t>& numbers) {
  return test_world().send(kWorld, peer(), tag, std::as_bytes(std::span(numbers)));
}
CommRequest receive(std::int64_t tag, std::vector<std::int64_t>& numbers) {
  return test_world().receive(kWorld, peer(), tag, std::as_writable_bytes(std::span(numbers)));
}

TEST_F(Messages, both_ways_at_once) {
  for (const std::size_t count : {1, 1'000, 100'000}) {
    const std::vector<std::int64_t> sent(count, own() + 5);
    std::vector<std::int64_t> received(count, -1);
    const CommRequest sending = send(3, sent);
    const CommRequest receiving = receive(3, received);
    test_world().wait(sending);
    test_world().wait(receiving);
    EXPECT_EQ(received, std::vector<std::int64_t>(count, peer() + 5));
  }
}

// Long and short ones in turns: a short one must not overtake.
TEST_F(Messages, with_the_same_tag_in_order) {
  constexpr std::size_t kMessages = 20;
  const auto count = [](std::size_t i) -> std::size_t { return i % 2 == 0 ? 50'000 : 1; };
  std::vector<std::vector<std::int64_t>> sent(kMessages), received(kMessages);
  std::vector<CommRequest> requests;
  for (std::size_t i = 0; i < kMessages; ++i) {
    sent[i].assign(count(i), 100 * own() + static_cast<std::int64_t>(i));
    received[i].assign(count(i), -1);
    requests.push_back(send(7, sent[i]));
  }
  for (std::size_t i = 0; i < kMessages; ++i) requests.push_back(receive(7, received[i]));
  for (const CommRequest request : requests) test_world().wait(request);
  for (std::size_t i = 0; i < kMessages; ++i)
    EXPECT_EQ(received[i], std::vector<std::int64_t>(count(i), 100 * peer() + static_cast<std::int64_t>(i)));
}

// Received in the opposite order to sending: tags tell them apart.
TEST_F(Messages, with_other_tags_in_any_order) {
  constexpr std::int64_t kMessages = 6;
  constexpr std::size_t kCount = 40'000;
  std::vector<std::vector<std::int64_t>> sent(kMessages), received(kMessages);
  std::vector<CommRequest> sends;
  for (std::int64_t tag = 0; tag < kMessages; ++tag) {
    sent[tag].assign(kCount, 10 * own() + tag);
    received[tag].assign(kCount, -1);
    sends.push_back(send(tag, sent[tag]));
  }
  for (std::int64_t tag = kMessages - 1; tag >= 0; --tag) {
    test_world().wait(receive(tag, received[tag]));
    EXPECT_EQ(received[tag], std::vector<std::int64_t>(kCount, 10 * peer() + tag));
  }
  for (const CommRequest request : sends) test_world().wait(request);
}

TEST_F(Messages, of_nothing) {
  std::vector<std::int64_t> none;
  const CommRequest sending = send(0, none);
  test_world().wait(receive(0, none));
  test_world().wait(sending);
}

// Each rank hands what it got to the next, as stages of a pipeline do, while a sum over all ranks goes on.
TEST(MessagesOfAll, beside_a_reduction) {
  const std::int64_t ranks = test_world().size();
  std::vector<float> gradients(200'000, 1.0F);
  const CommRequest sum = test_world().all_reduce(
      kWorld, {std::as_writable_bytes(std::span(gradients)), DType::kF32}, ReduceOp::kSum);
  std::vector<std::int64_t> token(10'000, 1);
  const auto bytes = std::as_writable_bytes(std::span(token));
  if (own() > 0) {
    test_world().wait(test_world().receive(kWorld, own() - 1, 1, bytes));
    for (std::int64_t& number : token) ++number;
  }
  if (own() + 1 < ranks) test_world().wait(test_world().send(kWorld, own() + 1, 1, bytes));
  EXPECT_EQ(token, std::vector<std::int64_t>(token.size(), own() + 1));
  test_world().wait(sum);
  EXPECT_EQ(gradients, std::vector<float>(gradients.size(), static_cast<float>(ranks)));
}

}  // namespace
}  // namespace nadi::inline engines
