#include "nadi/check/run_deadlock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Words {
  std::uint64_t id = 0;
  NodeType type = NodeType::kComp;
  std::vector<std::uint64_t> parents = {};
  std::uint32_t group = 0;
  std::int32_t peer = 0;
};

Words work(std::uint64_t id, std::vector<std::uint64_t> parents) {
  return {.id = id, .parents = std::move(parents)};
}
Words collective(std::uint64_t id, std::vector<std::uint64_t> parents, std::uint32_t group = 0) {
  return {.id = id, .type = NodeType::kCommColl, .parents = std::move(parents), .group = group};
}
Words send(std::uint64_t id, std::vector<std::uint64_t> parents, std::int32_t to) {
  return {.id = id, .type = NodeType::kCommSend, .parents = std::move(parents), .peer = to};
}
Words receive(std::uint64_t id, std::vector<std::uint64_t> parents, std::int32_t from) {
  return {.id = id, .type = NodeType::kCommRecv, .parents = std::move(parents), .peer = from};
}

std::string name_of(const Words& words) {
  switch (words.type) {
    case NodeType::kCommColl:
      return "reduce " + std::to_string(words.group);
    case NodeType::kCommSend:
      return "send";
    case NodeType::kCommRecv:
      return "receive";
    default:
      return "work";
  }
}

class RunDeadlockTest : public testing::Test {
 protected:
  std::vector<std::string> found(const std::vector<std::vector<Words>>& ranks, std::string_view groups = "") {
    std::vector<std::filesystem::path> files;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      Trace trace;
      for (const Words& words : ranks[rank]) {
        TraceNode made;
        const std::string name = name_of(words);
        fill_node(made, {.id = words.id, .name = name, .type = words.type, .data = words.parents});
        if (words.type == NodeType::kCommColl) {
          add_comm_type(made, CollectiveType::kAllReduce);
          add_process_group(made, words.group);
        }
        if (words.type == NodeType::kCommSend) add_comm_dst(made, words.peer);
        if (words.type == NodeType::kCommRecv) add_comm_src(made, words.peer);
        if (words.type == NodeType::kCommSend || words.type == NodeType::kCommRecv) add_comm_tag(made, 1);
        if (words.type != NodeType::kComp) add_comm_size(made, 64_KiB);
        trace.add(made);
      }
      files.push_back(folder_ / ("t." + std::to_string(rank) + ".et"));
      write_trace(files.back(), trace);
    }
    if (!groups.empty()) write_text(folder_ / "t.groups.json", groups);
    return messages(check_traces(files, {}).findings, rule::kDeadlock);
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(RunDeadlockTest, RanksThatMeetInOneOrderDoNot) {
  EXPECT_THAT(found({{collective(0, {}), work(1, {0}), collective(2, {1})},
                     {work(0, {}), collective(1, {0}), collective(2, {1})}}),
              IsEmpty());
  // Both send first: a sent message needs no receiver.
  EXPECT_THAT(found({{send(0, {}, 1), receive(1, {0}, 1)}, {send(0, {}, 0), receive(1, {0}, 0)}}), IsEmpty());
}

TEST_F(RunDeadlockTest, BothReceiveFirst) {
  EXPECT_THAT(
      found({{receive(0, {}, 1), send(1, {0}, 1)}, {receive(0, {}, 0), work(1, {0}), send(2, {1}, 0)}}),
      ElementsAre("rank 0 waits in 'receive' for rank 1, which waits in 'receive' for rank 0"));
}

// Groups 1 and 2 are both of ranks 0 and 1. Each rank waits for its first all-reduce before its second.
TEST_F(RunDeadlockTest, TwoGroupsInOppositeOrders) {
  constexpr std::string_view kGroups = R"({"1": [0, 1], "2": [0, 1]})";
  EXPECT_THAT(
      found({{collective(0, {}, 1), collective(1, {0}, 2)}, {collective(0, {}, 2), collective(1, {0}, 1)}},
            kGroups),
      ElementsAre("rank 0 waits in 'reduce 1' for rank 1, which waits in 'reduce 2' for rank 0"));
  // Where nothing orders them, nobody waits.
  EXPECT_THAT(
      found({{collective(0, {}, 1), collective(1, {}, 2)}, {collective(0, {}, 2), collective(1, {}, 1)}},
            kGroups),
      IsEmpty());
}

TEST_F(RunDeadlockTest, ACircleOfThree) {
  EXPECT_THAT(found({{receive(0, {}, 2), send(1, {0}, 1)},
                     {receive(0, {}, 0), send(1, {0}, 2)},
                     {receive(0, {}, 1), send(1, {0}, 0)}}),
              ElementsAre("rank 0 waits in 'receive' for rank 2, which waits in 'receive' for rank 1, which "
                          "waits in 'receive' for rank 0"));
}

// What has no partner is found by its own rule.
TEST_F(RunDeadlockTest, AMissingPartnerIsNoCircle) {
  EXPECT_THAT(found({{receive(0, {}, 1), send(1, {0}, 1)}, {work(0, {})}}), IsEmpty());
}

}  // namespace
}  // namespace nadi::inline traces
