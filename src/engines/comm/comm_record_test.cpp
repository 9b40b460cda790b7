#include "nadi/comm/comm_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/comm/recorded_communicator.h"
#include "nadi/comm/thread_world_for_tests.h"

namespace nadi::inline engines {
namespace {

const std::vector<Rank> kBoth{Rank{0}, Rank{1}};

TEST(CommRecord, KeepsTheLastRequestsAndNumbersThoseOfAGroup) {
  ThreadWorld threads(2);
  std::array<CommRecord, 2> records;
  const auto errors = threads.run([&](Communicator& inner) {
    CommRecord& record = records[static_cast<std::size_t>(to_number(inner.rank()))];
    record.add_group(kBoth);
    RecordedCommunicator world(inner, record);
    const CommGroup pair = world.add_group(kBoth);
    for (int i = 0; i < 70; ++i) {
      float one = 1;
      world.wait(
          world.all_reduce(pair, {std::as_writable_bytes(std::span(&one, 1)), DType::kF32}, ReduceOp::kSum));
      EXPECT_EQ(one, 2);
    }
    world.barrier(kWorld);
  });
  for (const auto& error : errors) EXPECT_FALSE(error);
  const CommRecord::Snapshot seen = records[1].read();
  // 1 new group, 70 sums, 1 barrier: 72, of which 64 are kept.
  ASSERT_EQ(seen.last.size(), CommRecord::kKept);
  EXPECT_EQ(seen.last.back().op, CommOp::kBarrier);
  EXPECT_EQ(seen.last.back().number, 1U) << "of the world";
  EXPECT_EQ(seen.last[62].op, CommOp::kAllReduce);
  EXPECT_EQ(seen.last[62].number, 71U) << "the agreement on the group was its first";
  EXPECT_EQ(seen.last[62].size, Bytes{4});
  EXPECT_TRUE(seen.last[62].done);
  EXPECT_EQ(seen.groups[0].started, 1U);
  EXPECT_EQ(seen.groups[1].started, 71U);
  EXPECT_FALSE(seen.waits);
}

// What is no request of this communicator: work of a GPU.
TEST(CommRecord, TellsOfOtherWaits) {
  CommRecord record;
  record.add_group(kBoth);
  const std::uint64_t before = record.moves();
  {
    const CommRecord::Waiting waiting(record, RecordedRequest{.op = CommOp::kDevice});
    EXPECT_TRUE(record.waits());
    EXPECT_EQ(record.read().waits->request.op, CommOp::kDevice);
    EXPECT_EQ(record.moves(), before);
  }
  EXPECT_FALSE(record.waits());
  EXPECT_GT(record.moves(), before);
  record.moved();
  EXPECT_GT(record.moves(), before + 1);
}

// Rank 0 waits, and rank 1 does not come.
TEST(CommRecord, TellsWhatARankWaitsFor) {
  ThreadWorld threads(2);
  CommRecord record;
  record.add_group(kBoth);
  RecordedCommunicator world(threads.rank(0), record);
  float one = 1;
  const auto bytes = std::as_writable_bytes(std::span(&one, 1));
  const CommRequest sum = world.all_reduce(kWorld, {bytes, DType::kF32}, ReduceOp::kSum);
  EXPECT_FALSE(record.waits()) << "it was only started";
  EXPECT_FALSE(world.test(sum));
  const std::uint64_t before = record.moves();
  std::thread waiting([&] { world.wait(sum); });
  while (!record.waits()) std::this_thread::yield();
  const CommRecord::Snapshot seen = record.read();
  EXPECT_EQ(seen.waits->request.op, CommOp::kAllReduce);
  EXPECT_EQ(seen.waits->request.number, 1U);
  EXPECT_EQ(seen.moves, before) << "who waits does not get on";
  EXPECT_FALSE(seen.last.back().done);
  float other = 1;
  threads.rank(1).all_reduce(kWorld, {std::as_writable_bytes(std::span(&other, 1)), DType::kF32},
                             ReduceOp::kSum);
  waiting.join();
  EXPECT_FALSE(record.waits());
  EXPECT_GT(record.moves(), before);
}

TEST(CommRecord, NamesTheOtherRankOfAMessage) {
  ThreadWorld threads(2);
  CommRecord record;
  record.add_group(kBoth);
  RecordedCommunicator world(threads.rank(0), record);
  const std::array<std::byte, 8> bytes{};
  world.wait(world.send(kWorld, 1, 5, bytes));
  const RecordedRequest sent = record.read().last.back();
  EXPECT_EQ(sent.op, CommOp::kSend);
  EXPECT_EQ(sent.peer, 1);
  EXPECT_EQ(sent.number, 0U);
  EXPECT_EQ(record.read().groups[0].started, 0U) << "messages are not numbered with the collectives";
}

}  // namespace
}  // namespace nadi::inline engines
