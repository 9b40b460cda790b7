// What is said here of small runs was seen in ASTRA-sim itself (of March 2026, with its analytical network):
// each run was given to it with and without a roofline.
#include "nadi/check/astra_sim_play.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ids = std::vector<std::uint64_t>;

// A node in few words.
struct Words {
  std::uint64_t id = 0;
  NodeType type = NodeType::kComp;
  Ids parents = {};
  bool on_cpu = false;
  Bytes bytes = {};
  std::uint32_t group = 0;
  std::int32_t peer = 0;
};

Words node(std::uint64_t id, NodeType type, const Ids& parents) {
  return {.id = id, .type = type, .parents = parents};
}
Words host(std::uint64_t id) {
  return {.id = id, .on_cpu = true};
}
Words computation(std::uint64_t id, const Ids& parents = {}, Bytes moved = 1_MiB) {
  return {.id = id, .parents = parents, .bytes = moved};
}
Words collective(std::uint64_t id, const Ids& parents, std::uint32_t group = 0, Bytes size = 4_KiB) {
  return {.id = id, .type = NodeType::kCommColl, .parents = parents, .bytes = size, .group = group};
}
Words send(std::uint64_t id, const Ids& parents, std::int32_t to) {
  return {.id = id, .type = NodeType::kCommSend, .parents = parents, .bytes = Bytes{64}, .peer = to};
}
Words receive(std::uint64_t id, const Ids& parents, std::int32_t from) {
  return {.id = id, .type = NodeType::kCommRecv, .parents = parents, .bytes = Bytes{64}, .peer = from};
}

void add(Trace& trace, const Words& words) {
  TraceNode made;
  fill_node(made, {.id = words.id, .name = "n", .type = words.type, .data = words.parents});
  add_is_cpu_op(made, words.on_cpu);
  if (words.type == NodeType::kComp && !words.on_cpu) add_work(made, Flops{1'000'000'000}, words.bytes);
  if (words.type == NodeType::kCommColl) {
    add_comm_type(made, CollectiveType::kAllReduce);
    add_process_group(made, words.group);
  }
  if (words.type == NodeType::kCommSend) add_comm_dst(made, words.peer);
  if (words.type == NodeType::kCommRecv) add_comm_src(made, words.peer);
  if (words.type == NodeType::kCommSend || words.type == NodeType::kCommRecv) add_comm_tag(made, 1);
  if (words.type != NodeType::kComp) add_comm_size(made, words.bytes);
  trace.add(made);
}

using Nodes = std::vector<Words>;

class AstraSimPlay : public testing::Test {
 protected:
  // Why ranks do not finish, of each that does not.
  std::vector<std::string> stops(const std::vector<Nodes>& ranks, std::string_view groups = "",
                                 std::size_t simulator = 0) {
    std::vector<std::filesystem::path> files;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      Trace trace;
      for (const Words& words : ranks[rank]) add(trace, words);
      files.push_back(folder_ / ("t." + std::to_string(rank) + ".et"));
      write_trace(files.back(), trace);
    }
    if (!groups.empty()) write_text(folder_ / "t.groups.json", groups);
    const CheckReport report = check_traces(files, {});
    std::vector<std::string> all;
    for (const CheckedFile& file : report.files)
      for (const SimulatorPoint& point : file.verdicts[simulator].refusals) all.push_back(point.what);
    return all;
  }
  std::vector<std::string> stops_with_roofline(const std::vector<Nodes>& ranks) {
    return stops(ranks, "", 1);
  }

  const TemporaryFolder folder_;
};

TEST_F(AstraSimPlay, RanksThatMeetFinish) {
  const std::vector<Nodes> both(2, {computation(0), collective(1, {0}), computation(2, {1})});
  EXPECT_THAT(stops(both), IsEmpty());
  EXPECT_THAT(stops_with_roofline(both), IsEmpty());
  EXPECT_THAT(stops({{computation(0), send(1, {0}, 1)}, {receive(0, {}, 0), computation(1, {0})}}),
              IsEmpty());
}

// A message arrives whether it is received or not, so that nobody waits for its receiver.
TEST_F(AstraSimPlay, ASentMessageNeedsNoReceiver) {
  EXPECT_THAT(stops({{computation(0), send(1, {0}, 1), computation(2, {1})}, {computation(0)}}), IsEmpty());
}

// Rank 0 can join the all-reduce at once, and then cannot send what rank 1 wants before it joins.
TEST_F(AstraSimPlay, ACollectiveThatStartsEarlyKeepsBackWhatIsSent) {
  const Nodes receiver{receive(0, {}, 0), collective(1, {0})};
  const std::vector<std::string> said =
      stops({{computation(0), collective(1, {}), send(2, {0}, 1)}, receiver});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0],
            "the rank does not finish: it waits in a collective for rank 1, which waits in node 0 'n'");
  EXPECT_EQ(said[1], "the rank does not finish: it waits for a message of rank 0, which is in node 1 'n'");
  EXPECT_THAT(stops({{computation(0), send(1, {0}, 1), collective(2, {1})}, receiver}), IsEmpty());
}

// The lower id goes first where both can start: it depends on times whether both can.
TEST_F(AstraSimPlay, TimesMayDecide) {
  const Nodes receiver{receive(0, {}, 0), collective(1, {0})};
  EXPECT_THAT(stops({{send(1, {}, 1), collective(2, {})}, receiver}), IsEmpty());
  // The message is longer under way than the computation takes: rank 0 joins the second group before its own.
  const auto ring = [](std::uint64_t first_group, std::uint64_t second_group) {
    return Nodes{computation(0), collective(1, {}, static_cast<std::uint32_t>(first_group)),
                 collective(2, {}, static_cast<std::uint32_t>(second_group))};
  };
  EXPECT_THAT(stops({ring(1, 2), ring(2, 1)}, R"({"1": [0, 1], "2": [0, 1]})"), testing::SizeIs(2));
  EXPECT_THAT(stops({ring(1, 2), ring(1, 2)}, R"({"1": [0, 1], "2": [0, 1]})"), IsEmpty());
}

TEST_F(AstraSimPlay, CollectivesThatDoNotFitEachOther) {
  EXPECT_THAT(
      stops({{computation(0), collective(1, {0}, 0, 4_KiB)}, {computation(0), collective(1, {0}, 0, 8_KiB)}}),
      testing::Each(HasSubstr("ranks of its group call different collectives")));
  EXPECT_THAT(stops({{computation(0), collective(1, {0}, 1)}, {computation(0)}}, R"({"1": [0]})"),
              ElementsAre(HasSubstr("a collective of one rank does not end")));
}

// Nobody looks at what follows until something else of the rank ends.
TEST_F(AstraSimPlay, WhatFollowsANodeThatIsPassedOver) {
  const std::vector<Nodes> alone(2, {computation(0), computation(1, {0}, Bytes{0}), computation(2, {1})});
  EXPECT_THAT(stops(alone), IsEmpty());
  EXPECT_THAT(stops_with_roofline(alone), testing::SizeIs(2));
  const std::vector<Nodes> last(2, {computation(0), computation(1, {0}, Bytes{0})});
  EXPECT_THAT(stops_with_roofline(last), IsEmpty());
  const std::vector<Nodes> invalid(2, {node(0, NodeType::kInvalid, {}), computation(1, {0})});
  EXPECT_THAT(stops(invalid), testing::Each(HasSubstr("nothing starts what follows")));
}

TEST_F(AstraSimPlay, ARankWithOpsOfTheHostMustNotEndWithAMessage) {
  EXPECT_THAT(stops({{host(0), send(1, {0}, 1)}, {host(0), receive(1, {0}, 0), computation(2, {1})}}),
              ElementsAre(HasSubstr("its statistics stop")));
  EXPECT_THAT(stops({{host(0), send(1, {0}, 1), computation(2, {1})},
                     {host(0), receive(1, {0}, 0), computation(2, {1})}}),
              IsEmpty());
  EXPECT_THAT(stops(std::vector<Nodes>(2, {host(0), collective(1, {0})})), IsEmpty());
}

TEST_F(AstraSimPlay, SaysWhenRanksAreMissing) {
  Trace trace;
  add(trace, collective(0, {}));
  write_trace(folder_ / "t.0.et", trace);
  const std::vector<std::filesystem::path> files{folder_ / "t.0.et"};
  const CheckReport report = check_traces(files, {});
  ASSERT_EQ(report.files[0].verdicts[0].remarks.size(), 1u);
  EXPECT_THAT(report.files[0].verdicts[0].remarks[0].what, HasSubstr("only with the traces of all ranks"));
}

TEST_F(AstraSimPlay, IsAnErrorWhereASimulatorIsAskedFor) {
  stops({{computation(0), collective(1, {}), send(2, {0}, 1)}, {receive(0, {}, 0), collective(1, {0})}});
  const std::vector<std::filesystem::path> files{folder_ / "t.0.et", folder_ / "t.1.et"};
  const CheckReport report = check_traces(files, {.simulators = {"astra-sim"}});
  EXPECT_THAT(messages(report.findings, rule::kRefused),
              ElementsAre(HasSubstr("astra-sim does not finish: it waits in a collective for rank 1"),
                          HasSubstr("astra-sim does not finish: it waits for a message of rank 0")));
}

}  // namespace
}  // namespace nadi::inline traces
