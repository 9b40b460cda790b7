#include "nadi/plan/spread_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {
namespace {

// An interleaved pipeline with any times of chunks, in several orders of stages that are alike in nothing.
struct RandomSpread {
  std::vector<std::vector<std::vector<PassTimes>>> forward, backward;  // by order, chunk and layers
  std::vector<std::vector<std::vector<PartitionCosts>>> after;         // by order, stage and layers
  SpreadProblem problem;
  std::int64_t layers = 0;

  // All that exact() looks at; nothing is shared with the search but the pipeline's latency.
  std::int64_t time_of(std::size_t order, std::span<const std::int64_t> of_stages) const {
    const SpreadOrder& one = problem.orders[order];
    const Plan& plan = one.tables.plan;
    for (std::size_t s = 0; s < of_stages.size(); ++s)
      if (of_stages[s] > one.most_layers[s]) return kNeverEnds;
    const std::vector<std::int64_t> partition = spread_over_chunks(of_stages, plan.virtual_stages);
    std::vector<PassTimes> forwards, backwards;
    for (std::size_t c = 0; c < partition.size(); ++c) {
      forwards.push_back(forward[order][c][static_cast<std::size_t>(partition[c])]);
      backwards.push_back(backward[order][c][static_cast<std::size_t>(partition[c])]);
    }
    PipelineLatency latency;
    const PipelineLatency::Ends ends = latency.of({.schedule = plan.schedule,
                                                   .stages = plan.pp,
                                                   .virtual_stages = plan.virtual_stages,
                                                   .micro_batches = plan.micro_batches,
                                                   .forward = forwards,
                                                   .backward = backwards,
                                                   .activations = one.tables.activations,
                                                   .gradients = one.tables.gradients});
    std::int64_t settled = 0, update = 0;
    for (std::size_t s = 0; s < of_stages.size(); ++s) {
      const PartitionCosts& costs = one.after[s][static_cast<std::size_t>(of_stages[s])];
      std::int64_t end = 0;
      for (std::size_t c = s; c < partition.size(); c += of_stages.size())
        end = std::max(end, ends.backward[c]);
      settled = std::max(settled, end + costs.tail);
      if (s == 0 || s + 1 == of_stages.size())
        settled = std::max(settled, end + one.tables.embedding_reduction.count());
      update = std::max(update, costs.update);
    }
    return settled + one.tables.norm.count() + update;
  }
};

RandomSpread random_spread(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  RandomSpread spread;
  const std::int64_t stages = draw(2, 4), chunks_of_stage = draw(2, 3), chunks = stages * chunks_of_stage;
  spread.layers = draw(1, 9);
  const auto row = static_cast<std::size_t>(spread.layers + 1);
  const std::int64_t slow_send = draw(0, 1) == 0 ? 400 : 30, orders = draw(1, 3), groups = draw(1, 4);
  const bool recomputes = draw(0, 1) == 0;
  for (std::int64_t o = 0; o < orders; ++o) {
    SpreadOrder order;
    order.kinds = {static_cast<std::int32_t>(o)};  // which order it is
    order.tables.plan = {.pp = stages,
                         .schedule = ScheduleKind::kInterleaved,
                         .virtual_stages = chunks_of_stage,
                         .micro_batches = stages * groups};
    order.tables.layers = spread.layers;
    order.tables.norm = Nanoseconds{draw(0, 20)};
    order.tables.embedding_reduction = Nanoseconds{draw(0, 1) == 0 ? 0 : draw(0, 300)};
    std::vector<std::vector<PassTimes>>& forward = spread.forward.emplace_back();
    std::vector<std::vector<PassTimes>>& backward = spread.backward.emplace_back();
    std::vector<std::int64_t> speeds;
    for (std::int64_t s = 0; s < stages; ++s) speeds.push_back(draw(10, 60));
    for (std::int64_t c = 0; c < chunks; ++c) {
      const bool end = c == 0 || c + 1 == chunks;  // has something to do without layers
      const auto passes = [&] {
        std::vector<PassTimes> passes;
        std::int64_t run = end ? draw(1, 50) : 0;
        for (std::size_t l = 0; l < row; ++l) {
          if (l > 0) run += speeds[static_cast<std::size_t>(c % stages)] + draw(0, 9);
          passes.push_back({.run = Nanoseconds{run},
                            .after_input = Nanoseconds{recomputes ? draw(run / 2, run) : run},
                            .empty = l == 0 && !end});
        }
        return passes;
      };
      forward.push_back(passes());
      backward.push_back(passes());
      if (c + 1 == chunks) continue;
      order.tables.activations.push_back(Nanoseconds{draw(0, slow_send)});
      order.tables.gradients.push_back(Nanoseconds{draw(0, slow_send)});
    }
    std::vector<std::vector<PartitionCosts>>& after = spread.after.emplace_back();
    for (std::int64_t s = 0; s < stages; ++s) {
      after.emplace_back();
      for (std::size_t l = 0; l < row; ++l)
        after.back().push_back({.tail = draw(0, 80), .update = draw(0, 80)});
      order.most_layers.push_back(draw(0, 3) == 0 ? draw(0, spread.layers) : spread.layers);
    }
    spread.problem.orders.push_back(std::move(order));
  }
  for (std::size_t o = 0; o < spread.problem.orders.size(); ++o) {
    SpreadOrder& order = spread.problem.orders[o];
    for (std::size_t c = 0; c < spread.forward[o].size(); ++c)
      order.tables.chunks.push_back({.forward = spread.forward[o][c], .backward = spread.backward[o][c]});
    for (const std::vector<PartitionCosts>& costs : spread.after[o]) order.after.emplace_back(costs);
  }
  return spread;
}

std::int64_t best_of_all(const RandomSpread& spread) {
  std::int64_t best = kNeverEnds;
  for (std::size_t o = 0; o < spread.problem.orders.size(); ++o) {
    std::vector<std::int64_t> layers;
    const auto place = [&](auto&& self, std::int64_t left) -> void {
      if (std::ssize(layers) + 1 == spread.problem.orders[o].tables.plan.pp) {
        layers.push_back(left);
        best = std::min(best, spread.time_of(o, layers));
        layers.pop_back();
        return;
      }
      for (std::int64_t l = 0; l <= left; ++l) {
        layers.push_back(l);
        self(self, left - l);
        layers.pop_back();
      }
    };
    place(place, spread.layers);
  }
  return best;
}

TEST(SpreadSearch, FindsTheBestOfAllPartitionsAndProvesIt) {
  std::mt19937 random(1);
  int none = 0;
  for (int i = 0; i < 400; ++i) {
    RandomSpread spread = random_spread(random);
    spread.problem.exact = [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
      return spread.time_of(static_cast<std::size_t>(kinds[0]), layers);
    };
    const std::int64_t best = best_of_all(spread);
    const PartitionAnswer answer = spread.problem.solve({.work = 1'000'000'000});
    EXPECT_EQ(answer.nanoseconds, best) << "case " << i;
    EXPECT_EQ(answer.lower_bound, best) << "case " << i;
    none += best == kNeverEnds;
  }
  EXPECT_LT(none, 100);
}

// With little work a bound is low, but a bound; and most of them are near.
TEST(SpreadSearch, HasABoundAfterAnyWork) {
  std::mt19937 random(2);
  double sum = 0;
  int counted = 0;
  for (int i = 0; i < 400; ++i) {
    RandomSpread spread = random_spread(random);
    spread.problem.exact = [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
      return spread.time_of(static_cast<std::size_t>(kinds[0]), layers);
    };
    const std::int64_t best = best_of_all(spread);
    if (best == kNeverEnds) continue;
    const auto work = static_cast<std::int64_t>(random() % 20'000);
    const PartitionAnswer answer = spread.problem.solve({.work = work});
    ASSERT_LE(answer.lower_bound, best) << "case " << i;
    ASSERT_GE(answer.nanoseconds, best) << "case " << i;
    // Nothing that is asked for is better than the best.
    const PartitionAnswer none = spread.problem.solve({.better_than = best, .work = work});
    ASSERT_FALSE(none.found());
    ASSERT_LE(none.lower_bound, best) << "case " << i;
    sum += static_cast<double>(none.lower_bound) / static_cast<double>(best);
    ++counted;
  }
  EXPECT_GT(sum / counted, 0.7);
}

}  // namespace
}  // namespace nadi::inline predict
