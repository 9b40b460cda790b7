#include "nadi/comm/channel_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace nadi::inline engines {
namespace {

using Needs = std::vector<std::vector<ChannelNeed>>;

void add_group(Needs& needs, const std::vector<int>& members, int repeated = 0) {
  std::vector<Rank> ranks;
  for (const int member : members) ranks.push_back(Rank{member});
  for (const int member : members)
    needs[static_cast<std::size_t>(member)].push_back({.size = static_cast<std::int32_t>(members.size()),
                                                       .first = members[0],
                                                       .repeated = repeated,
                                                       .members = hash_of_members(ranks)});
}

void add_line(Needs& needs, int sender, int receiver, std::int64_t tag) {
  for (const int rank : {sender, receiver})
    needs[static_cast<std::size_t>(rank)].push_back(
        {.size = 2, .first = sender, .second = receiver, .tag = tag});
}

// What splits by these plans make: for each need the ranks that got it, which must be those that have it.
std::size_t rounds_of(const Needs& needs) {
  std::vector<ChannelPlan> plans;
  for (std::size_t rank = 0; rank < needs.size(); ++rank)
    plans.push_back(plan_channels(needs, {.own = Rank{static_cast<std::int32_t>(rank)}}));
  std::size_t made = 0, wanted = 0;
  for (const auto& own : needs) wanted += own.size();
  for (const ChannelPlan& plan : plans) {
    EXPECT_EQ(plan.rounds.size(), plans[0].rounds.size()) << "all ranks call each split";
    made += plan.world ? 1 : 0;
  }
  for (std::size_t round = 0; round < plans[0].rounds.size(); ++round) {
    std::map<std::int32_t, std::set<std::size_t>> by_color;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      const ChannelPlan::Round& own = plans[rank].rounds[round];
      if (own.color < 0) continue;
      by_color[own.color].insert(rank);
      ++made;
    }
    for (const auto& [color, ranks] : by_color) {
      const std::size_t any = *ranks.begin();
      const ChannelNeed& need = needs[any][plans[any].rounds[round].need];
      EXPECT_EQ(ranks.size(), static_cast<std::size_t>(need.size));
      for (const std::size_t rank : ranks)
        EXPECT_EQ(needs[rank][plans[rank].rounds[round].need], need) << "ranks of a colour mean the same";
    }
  }
  EXPECT_EQ(made, wanted) << "everybody has what it needs";
  return plans[0].rounds.size();
}

TEST(ChannelPlan, the_group_of_all_ranks_takes_no_split) {
  Needs needs(2);
  add_group(needs, {0, 1});
  EXPECT_EQ(rounds_of(needs), 0U);
  EXPECT_EQ(plan_channels(needs, {.own = Rank{1}}).world, 0U);
  const ChannelPlan later = plan_channels(needs, {.own = Rank{1}, .world_is_free = false});
  EXPECT_FALSE(later.world) << "it is another group's";
  EXPECT_EQ(later.rounds.size(), 1U);
  // A second group of the same members is one of its own, and so is one in another order.
  add_group(needs, {0, 1}, 1);
  EXPECT_EQ(rounds_of(needs), 1U);
  add_group(needs, {1, 0});
  EXPECT_EQ(rounds_of(needs), 2U);
}

TEST(ChannelPlan, groups_without_common_ranks_are_made_by_one_split) {
  Needs needs(8);
  for (const int first : {0, 2, 4, 6}) add_group(needs, {first, first + 1});  // tp 2
  EXPECT_EQ(rounds_of(needs), 1U);
  for (const int first : {0, 1, 4, 5}) add_group(needs, {first, first + 2});  // dp 2
  EXPECT_EQ(rounds_of(needs), 2U);
  add_group(needs, {0, 4});  // embeddings of the first and last stage, of some ranks only
  EXPECT_EQ(rounds_of(needs), 3U);
  add_group(needs, {2, 6});
  EXPECT_EQ(rounds_of(needs), 3U);
}

// A stage has two neighbours, and messages go both ways: four splits, however long the pipeline is.
TEST(ChannelPlan, lines_of_a_pipeline_take_as_many_splits_as_a_stage_has_lines) {
  Needs needs(16);
  for (int stage = 0; stage + 1 < 16; ++stage) {
    add_line(needs, stage, stage + 1, 0);
    add_line(needs, stage + 1, stage, 0);
  }
  EXPECT_LE(rounds_of(needs), 5U);
}

TEST(ChannelPlan, nothing_needed_is_nothing_made) {
  EXPECT_EQ(rounds_of(Needs(4)), 0U);
}

}  // namespace
}  // namespace nadi::inline engines
