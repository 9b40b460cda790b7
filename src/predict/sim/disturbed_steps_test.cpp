#include "nadi/sim/disturbed_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace nadi::inline predict {
namespace {

ProcessorUse use_of(std::int64_t elapsed_ms, std::int64_t stolen_ms, std::int64_t busy_ms,
                    std::int64_t own_ms) {
  const auto ms = [](std::int64_t count) { return Nanoseconds{count * 1'000'000}; };
  return {.elapsed = ms(elapsed_ms), .stolen = ms(stolen_ms), .busy = ms(busy_ms), .own = ms(own_ms)};
}

using Uses = std::vector<std::map<std::int64_t, ProcessorUse>>;

TEST(DisturbedSteps, AreThoseWithMoreThanTwoPercent) {
  // In 4 s: 1.5%, 2.5% stolen, 2.5% of others.
  const Uses ranks{{{1, use_of(4000, 60, 3800, 3800)},
                    {2, use_of(4000, 100, 3800, 3800)},
                    {3, use_of(4000, 0, 3900, 3800)}}};
  const JudgedSteps judged = judge_steps(ranks);
  EXPECT_EQ(judged.judged, (std::set<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(judged.disturbed, (std::set<std::int64_t>{2, 3}));
}

TEST(DisturbedSteps, WhatTheOtherRanksUseIsNoDisturbance) {
  const Uses ranks{{{1, use_of(4000, 0, 3900, 1950)}, {2, use_of(4000, 0, 3900, 1950)}},
                   {{1, use_of(4000, 0, 3900, 1950)}, {2, use_of(4000, 0, 3900, 1800)}}};
  // Together 3.9 s in step 1, 3.75 s in step 2: others have taken 150 ms of 4 s.
  EXPECT_EQ(judge_steps(ranks).disturbed, std::set<std::int64_t>{2});
}

TEST(DisturbedSteps, ShortOnesAreJudgedTogether) {
  // Two of 1 s make a group of 2 s; the third belongs to it. 50 ms of 3 s are less than 2%.
  Uses ranks{
      {{1, use_of(1000, 50, 950, 950)}, {2, use_of(1000, 0, 1000, 1000)}, {3, use_of(1000, 0, 1000, 1000)}}};
  EXPECT_EQ(judge_steps(ranks).judged.size(), 3U);
  EXPECT_TRUE(judge_steps(ranks).disturbed.empty());
  ranks[0].erase(3);  // 50 ms of 2 s
  EXPECT_EQ(judge_steps(ranks).disturbed.size(), 2U);
  ranks[0].erase(2);
  EXPECT_TRUE(judge_steps(ranks).judged.empty()) << "1 s alone says nothing";
  EXPECT_TRUE(judge_steps(Uses{}).judged.empty());
  EXPECT_TRUE(judge_steps(Uses{{{1, use_of(4000, 400, 0, 0)}}, {}}).judged.empty())
      << "one rank does not say";
}

}  // namespace
}  // namespace nadi::inline predict
