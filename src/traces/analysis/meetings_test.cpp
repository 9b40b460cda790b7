#include "nadi/analysis/meetings.h"

#include <gtest/gtest.h>

#include <random>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

NodeForTests collective(std::uint64_t id, std::int64_t start, std::int64_t end,
                        CollectiveType type = CollectiveType::kAllReduce) {
  return {.id = id,
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .more = collective_for_tests(type, 8, 1)};
}

NodeForTests message(std::uint64_t id, NodeType type, std::int32_t peer, std::int64_t start, std::int64_t end,
                     std::int32_t tag = 0) {
  return {.id = id, .start = start, .end = end, .type = type, .more = [=](TraceNode& node) {
            if (type == NodeType::kCommSend)
              add_comm_dst(node, peer);
            else
              add_comm_src(node, peer);
            add_comm_tag(node, tag);
            add_comm_size(node, 8_B);
          }};
}

RankCalls rank(std::int64_t number, const std::vector<NodeForTests>& nodes, std::int64_t offset = 0) {
  return calls_of(*timeline_for_tests(nodes), number, Nanoseconds{offset});
}

TEST(Meetings, WaitingIsToldFromTransfer) {
  // Rank 0 comes at 10 and rank 1 at 30; both leave at 50. Rank 0 computes until 15.
  const std::vector<RankCalls> ranks{rank(0, {{.id = 9, .start = 1, .end = 15}, collective(1, 10, 50)}),
                                     rank(1, {collective(1, 30, 50)})};
  const Meetings meetings(ranks);
  EXPECT_EQ(meetings.of_call(0, 0).wait, Nanoseconds{20});
  EXPECT_EQ(meetings.of_call(0, 0).last_rank, 1);
  EXPECT_EQ(meetings.of_call(1, 0).wait, Nanoseconds{});
  // Exposed from 15 to 50: 15 of waiting, 20 of transfer.
  const ExposedWaits waits = exposed_waits(ranks[0], meetings, 0);
  EXPECT_EQ(waits.late_rank, Nanoseconds{15});
  EXPECT_EQ(waits.transfer, Nanoseconds{20});
  EXPECT_EQ(waits.late_message, Nanoseconds{});
  EXPECT_EQ(exposed_waits(ranks[1], meetings, 1).transfer, Nanoseconds{20});
}

TEST(Meetings, NobodyWaitsLongerThanTheCallLasts) {
  // A broadcast's root leaves before the other comes, and waits for nobody; clocks of an all-reduce that are
  // a little off do not make a wait of more than the call.
  const std::vector<RankCalls> ranks{
      rank(0, {collective(1, 10, 20, CollectiveType::kBroadcast), collective(2, 100, 110)}),
      rank(1, {collective(1, 30, 40, CollectiveType::kBroadcast), collective(2, 111, 120)})};
  const Meetings meetings(ranks);
  EXPECT_EQ(meetings.impossible(), 1);
  EXPECT_EQ(meetings.measure(), WaitMeasure::kDuration);  // one of two
  std::vector<RankCalls> more = ranks;
  for (int i = 0; i < 20; ++i)
    for (RankCalls& calls : more) {
      CollectiveCall call = calls.calls[1];
      call.start = Nanoseconds{1000 + 100 * i};
      call.end = call.start + Nanoseconds{10};
      calls.calls.push_back(call);
    }
  const Meetings believed(more);
  EXPECT_EQ(believed.measure(), WaitMeasure::kArrival);
  EXPECT_EQ(believed.of_call(0, 0).wait, Nanoseconds{});
  EXPECT_EQ(believed.of_call(0, 1).wait, Nanoseconds{10});
}

TEST(Meetings, AMessageIsReceivedWhenItWasSent) {
  // Rank 1 waits from 10 for what rank 0 sends at 40; the message arrives at 50. The second is sent at 60,
  // with another tag, before rank 1 wants it at 80: the sender has left long before. The third is a
  // rendezvous: sent at 90, wanted at 95, and both leave at 99.
  const std::vector<RankCalls> ranks{
      rank(0, {message(1, NodeType::kCommSend, 1, 40, 45), message(2, NodeType::kCommSend, 1, 60, 62, 7),
               message(3, NodeType::kCommSend, 1, 90, 99)}),
      rank(1, {message(1, NodeType::kCommRecv, 0, 10, 50), message(2, NodeType::kCommRecv, 0, 80, 81, 7),
               message(3, NodeType::kCommRecv, 0, 95, 99), message(4, NodeType::kCommRecv, 0, 100, 101)})};
  const Meetings meetings(ranks);
  EXPECT_EQ(meetings.matched_messages(), 3);
  EXPECT_EQ(meetings.unmatched_messages(), 1);
  EXPECT_EQ(meetings.of_message(1, 0).wait, Nanoseconds{30});
  EXPECT_EQ(meetings.of_message(1, 0).last_rank, 0);
  EXPECT_EQ(meetings.of_message(0, 0).wait, Nanoseconds{});
  EXPECT_EQ(meetings.of_message(0, 1).wait, Nanoseconds{});
  EXPECT_EQ(meetings.of_message(0, 2).wait, Nanoseconds{5});
  EXPECT_EQ(meetings.of_message(0, 2).last_rank, 1);
  const ExposedWaits waits = exposed_waits(ranks[1], meetings, 1);
  EXPECT_EQ(waits.late_message, Nanoseconds{30});
  EXPECT_EQ(waits.transfer, Nanoseconds{10 + 1 + 4 + 1});
}

TEST(Meetings, ClocksThatCountFromDifferentMomentsAreShifted) {
  const std::vector<RankCalls> ranks{rank(0, {collective(1, 10, 50)}),
                                     rank(1, {collective(1, 1'000'030, 1'000'050)}, -1'000'000)};
  const Meetings meetings(ranks);
  EXPECT_EQ(meetings.measure(), WaitMeasure::kArrival);
  EXPECT_EQ(meetings.of_call(0, 0).wait, Nanoseconds{20});
}

// Reference: look at every moment of each rank.
TEST(Meetings, PartsOfExposedTimeAgreeWithLookingAtEveryMoment) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
    std::vector<std::vector<NodeForTests>> nodes(3);
    for (auto& own : nodes) {
      for (int k = 0; k < 5; ++k) {
        const std::int64_t start = 1 + 100 * k + below(40);
        own.push_back(collective(own.size() + 1, start, 100 * k + 50 + below(20)));
      }
      for (int k = 0; k < 6; ++k) {
        const std::int64_t start = 1 + below(500);
        own.push_back({.id = own.size() + 1, .start = start, .end = start + below(40)});
      }
    }
    for (int k = 0; k < 4; ++k) {
      const std::int64_t sent = 1 + 120 * k + below(60), wanted = 1 + 120 * k + below(60);
      nodes[0].push_back(message(nodes[0].size() + 1, NodeType::kCommSend, 2, sent, sent + 5));
      nodes[2].push_back(message(nodes[2].size() + 1, NodeType::kCommRecv, 0, wanted,
                                 std::max(sent, wanted) + 1 + below(9)));
    }
    std::vector<RankCalls> ranks;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      ranks.push_back(rank(static_cast<std::int64_t>(i), nodes[i]));
    const Meetings meetings(ranks);
    ASSERT_EQ(meetings.measure(), WaitMeasure::kArrival);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ExposedWaits expected;
      for (std::int64_t t = 0; t < 700; ++t) {
        bool computes = false, moves = false, waits = false, messages = false;
        for (const NodeForTests& node : nodes[i])
          computes = computes || (node.type == NodeType::kComp && node.start <= t && t < node.end);
        const auto look = [&](Nanoseconds start, Nanoseconds end, Nanoseconds wait, bool& waiting) {
          if (start.count() > t || t >= end.count()) return;
          ((start + wait).count() <= t ? moves : waiting) = true;
        };
        for (std::size_t k = 0; k < ranks[i].calls.size(); ++k) {
          std::int64_t last = 0;
          for (const RankCalls& other : ranks) last = std::max(last, other.calls[k].start.count());
          const CollectiveCall& call = ranks[i].calls[k];
          look(call.start, call.end, Nanoseconds{last} - call.start, waits);
        }
        for (std::size_t k = 0; k < ranks[i].messages.size(); ++k) {
          const MessageCall& call = ranks[i].messages[k];
          look(call.start, call.end, meetings.of_message(i, k).wait, messages);
        }
        if (computes) continue;
        if (moves)
          expected.transfer += Nanoseconds{1};
        else if (waits)
          expected.late_rank += Nanoseconds{1};
        else if (messages)
          expected.late_message += Nanoseconds{1};
      }
      const ExposedWaits found = exposed_waits(ranks[i], meetings, i);
      EXPECT_EQ(found.transfer, expected.transfer) << seed;
      EXPECT_EQ(found.late_rank, expected.late_rank) << seed;
      EXPECT_EQ(found.late_message, expected.late_message) << seed;
      EXPECT_EQ(found.transfer + found.late_rank + found.late_message,
                break_down(*timeline_for_tests(nodes[i])).exposed_communication);
    }
  }
}

}  // namespace
}  // namespace nadi::inline traces
