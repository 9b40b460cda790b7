#include "nadi/reference/lockstep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "nadi/base/error.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs what `build` makes on each rank; what each rank's first output holds.
template <typename F>
std::vector<Doubles> run_ranks(int ranks, const RankGroups& groups, F build) {
  std::deque<Problem> problems;
  std::vector<ReferenceSlot> slots(ranks);
  std::vector<LockstepRank> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    Problem& p = problems.emplace_back(rank, ranks);
    build(p);
    parts.push_back({&p.store, {{.graph = &p.builder.graph(), .slot = &slots[rank]}}});
  }
  run_lockstep(parts, groups);
  std::vector<Doubles> results;
  for (int rank = 0; rank < ranks; ++rank)
    for (const TensorId id : problems[rank].outputs())
      results.push_back(problems[rank].value(slots[rank], id));
  return results;
}

template <typename F>
std::string message_of(int ranks, const RankGroups& groups, F build) {
  try {
    run_ranks(ranks, groups, build);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.message();
  }
  return "nothing was thrown";
}

const RankGroups kPair{{"all", {{0, 1}}}};
const GroupArgs kAll{.group = "all", .size = 2};

// Rank 0 holds 1 2 3 4, rank 1 holds 5 6 7 8.
TensorId one_to_eight(Problem& p, const Shape& shape) {
  return p.input("x", shape, p.rank() == 0 ? Doubles{1, 2, 3, 4} : Doubles{5, 6, 7, 8});
}

std::vector<Doubles> reduced_by(ReduceOp op) {
  return run_ranks(2, kPair, [&](Problem& p) {
    const TensorId x = p.input("x", Shape{2}, p.rank() == 0 ? Doubles{1, 8} : Doubles{3, 2});
    p.output(all_reduce(p.builder, {.x = x, .group = kAll, .op = op}));
  });
}

TEST(Lockstep, AllReduceCombines) {
  EXPECT_THAT(reduced_by(ReduceOp::kSum), ElementsAre(Doubles{4, 10}, Doubles{4, 10}));
  EXPECT_THAT(reduced_by(ReduceOp::kAverage), ElementsAre(Doubles{2, 5}, Doubles{2, 5}));
  EXPECT_THAT(reduced_by(ReduceOp::kMinimum), ElementsAre(Doubles{1, 2}, Doubles{1, 2}));
  EXPECT_THAT(reduced_by(ReduceOp::kMaximum), ElementsAre(Doubles{3, 8}, Doubles{3, 8}));
  EXPECT_THAT(reduced_by(ReduceOp::kProduct), ElementsAre(Doubles{3, 16}, Doubles{3, 16}));
}

TEST(Lockstep, RootsGiveAndTake) {
  EXPECT_THAT(run_ranks(2, kPair,
                        [](Problem& p) { p.output(reduce(p.builder, one_to_eight(p, Shape{4}), kAll, 1)); }),
              ElementsAre(Doubles{0, 0, 0, 0}, Doubles{6, 8, 10, 12}));
  EXPECT_THAT(
      run_ranks(2, kPair,
                [](Problem& p) { p.output(broadcast(p.builder, one_to_eight(p, Shape{4}), kAll, 1)); }),
      ElementsAre(Doubles{5, 6, 7, 8}, Doubles{5, 6, 7, 8}));
}

// [1 2; 3 4] and [5 6; 7 8] side by side are [1 2 5 6; 3 4 7 8].
TEST(Lockstep, GatherAndScatterWorkAlongAnAxis) {
  const Doubles side_by_side{1, 2, 5, 6, 3, 4, 7, 8};
  EXPECT_THAT(run_ranks(2, kPair,
                        [](Problem& p) {
                          p.output(all_gather(p.builder, one_to_eight(p, Shape{2, 2}), kAll, 1));
                        }),
              ElementsAre(side_by_side, side_by_side));
  // The sum is [6 8; 10 12]; its columns go to the two ranks.
  EXPECT_THAT(run_ranks(2, kPair,
                        [](Problem& p) {
                          p.output(reduce_scatter(p.builder, one_to_eight(p, Shape{2, 2}), kAll, 1));
                        }),
              ElementsAre(Doubles{6, 10}, Doubles{8, 12}));
}

// Rank 0 gets the left columns of both, one below the other.
TEST(Lockstep, AllToAllSplitsAndJoins) {
  EXPECT_THAT(
      run_ranks(2, kPair,
                [](Problem& p) {
                  p.output(all_to_all(
                      p.builder,
                      {.x = one_to_eight(p, Shape{2, 2}), .group = kAll, .split_axis = 1, .concat_axis = 0}));
                }),
      ElementsAre(Doubles{1, 3, 5, 7}, Doubles{2, 4, 6, 8}));
}

TEST(Lockstep, RanksHavePlacesInTheirGroups) {
  // Rank 3 stands first in its list, so it gets part 0.
  EXPECT_THAT(run_ranks(4, {{"tp", {{0, 1}, {3, 2}}}},
                        [](Problem& p) {
                          const double r = p.rank();
                          p.output(reduce_scatter(p.builder, p.input("x", Shape{2}, {r, 10 * r}),
                                                  {.group = "tp", .size = 2}, 0));
                        }),
              ElementsAre(Doubles{1}, Doubles{10}, Doubles{50}, Doubles{5}));
}

TEST(Lockstep, MessagesAreMatchedByTag) {
  EXPECT_THAT(run_ranks(2, kPair,
                        [](Problem& p) {
                          if (p.rank() == 0) {
                            send(p.builder, p.scalar("a", 1), {.group = "all", .peer = 1, .tag = 0});
                            send(p.builder, p.scalar("b", 2), {.group = "all", .peer = 1, .tag = 2});
                          } else {
                            for (const std::int64_t tag : {2, 0})
                              p.output(receive(p.builder, Shape{}, DType::kF32,
                                               {.group = "all", .peer = 0, .tag = tag}));
                          }
                        }),
              ElementsAre(Doubles{2}, Doubles{1}));
}

TEST(Lockstep, NamesWhereRanksWaitForEachOther) {
  EXPECT_EQ(
      message_of(2, kPair,
                 [](Problem& p) {
                   const auto scope = p.builder.in_layer(p.rank() == 0 ? "first" : "second");
                   const PeerArgs peer{.group = "all", .peer = 1 - p.rank()};
                   const TensorId x = receive(p.builder, Shape{}, DType::kF32, peer);
                   send(p.builder, x, peer);
                 }),
      "deadlock: rank 0 waits at 'first.receive' (receive), rank 1 waits at 'second.receive' (receive)");
  EXPECT_EQ(message_of(2, kPair,
                       [](Problem& p) {
                         if (p.rank() == 1) all_gather(p.builder, p.input("x", Shape{1}, {1}), kAll, 0);
                       }),
            "deadlock: rank 0 has finished, rank 1 waits at 'all_gather' (all_gather)");
}

TEST(Lockstep, RefusesMembersThatDisagree) {
  EXPECT_THAT(
      message_of(2, kPair,
                 [](Problem& p) {
                   all_reduce(p.builder,
                              {.x = p.input("x", Shape{p.rank() + 1}, Doubles(p.rank() + 1)), .group = kAll});
                 }),
      HasSubstr("rank 0 is at op 'all_reduce' (all_reduce) of [1] when rank 1 is at op 'all_reduce' "
                "(all_reduce) of [2]"));
}

TEST(Lockstep, RefusesGroupsItDoesNotKnow) {
  const auto reduce_all = [](Problem& p) {
    all_reduce(p.builder, {.x = p.input("x", Shape{1}, {1}), .group = kAll});
  };
  EXPECT_THAT(message_of(2, {}, reduce_all), HasSubstr("there is no group 'all'"));
  EXPECT_THAT(message_of(2, {{"all", {{0}}}}, reduce_all),
              HasSubstr("needs a group of 2 members; 'all' has 1"));
  EXPECT_THAT(message_of(2, {{"all", {{1}}}}, reduce_all), HasSubstr("rank 0 is not in group 'all'"));
}

TEST(Lockstep, NamesTheRankOfAnError) {
  EXPECT_EQ(message_of(2, kPair,
                       [](Problem& p) {
                         const TensorId x = p.builder.input("x", Shape{}, DType::kF32);
                         if (p.rank() == 0) p.store.set("x", {1});
                         add(p.builder, x, x);
                       }),
            "rank 1: input 'x' has no value");
}

TEST(Lockstep, RefusesMessagesThatNobodyReceives) {
  EXPECT_EQ(message_of(2, kPair,
                       [](Problem& p) {
                         if (p.rank() == 0)
                           send(p.builder, p.scalar("a", 1), {.group = "all", .peer = 1, .tag = 6});
                       }),
            "rank 0 sent rank 1 a message with tag 6 that was never received");
  EXPECT_THAT(message_of(2, kPair,
                         [](Problem& p) {
                           const PeerArgs peer{.group = "all", .peer = 1 - p.rank()};
                           if (p.rank() == 0)
                             send(p.builder, p.scalar("a", 1), peer);
                           else
                             receive(p.builder, Shape{2}, DType::kF32, peer);
                         }),
              HasSubstr("of rank 1 expects 2 elements, rank 0 sent 1"));
}

}  // namespace
}  // namespace nadi::inline engines
