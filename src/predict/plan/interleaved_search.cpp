#include "nadi/plan/interleaved_search.h"

#include <algorithm>
#include <numeric>

#include "nadi/plan/partition_bound.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {
namespace {

class InterleavedSearch {
 public:
  InterleavedSearch(const ChunksProblem& problem, std::int64_t better_than)
      : problem_(problem),
        layers_(problem.tables.layers),
        stages_(problem.tables.plan.pp),
        chunks_(stages_ * problem.tables.plan.virtual_stages),
        best_(better_than) {}

  PartitionAnswer run() {
    find_least();
    answer_.lower_bound = balanced_longest_;
    if (answer_.lower_bound >= best_) return answer_;
    evaluate(first());
    std::vector<std::int64_t> layers;
    std::vector<std::int64_t> loads(static_cast<std::size_t>(stages_));
    try_all(layers, loads, layers_);
    answer_.lower_bound = best_;
    answer_.work = answer_.evaluated * evaluation_work(shape_of(problem_.tables.plan));
    return answer_;
  }

 private:
  // Forward and backward of one micro-batch.
  std::int64_t time_of(std::int64_t chunk, std::int64_t layers) const {
    const ChunkTable& table = problem_.tables.chunks[static_cast<std::size_t>(chunk)];
    const auto l = static_cast<std::size_t>(layers);
    return table.forward[l].run.count() + table.backward[l].run.count();
  }
  std::int64_t& least(std::int64_t stage, std::int64_t layers) {
    return least_[static_cast<std::size_t>(stage * (layers_ + 1) + layers)];
  }
  // Bound of the whole step, if the passes of one micro-batch take a stage so long.
  std::int64_t bound_of(std::int64_t stage, std::int64_t layers, std::int64_t passes) const {
    const auto s = static_cast<std::size_t>(stage), l = static_cast<std::size_t>(layers);
    const StageTable& plain = problem_.plain.stages[s];
    const std::int64_t hidden = stages_ * problem_.plain.chunks[s].backward[l].run.count();
    // Megatron-LM's buckets are fewer in several chunks than in one.
    const bool fewer = problem_.tables.request.layout.rule == BucketRule::kMegatron;
    const std::int64_t reduction = fewer ? 0 : std::max<std::int64_t>(0, plain.reduction[l].count() - hidden);
    return sends_[s] + problem_.tables.plan.micro_batches * passes + reduction + problem_.plain.norm.count() +
           plain.update[l].count();
  }
  bool has_room(std::int64_t stage, std::int64_t layers) const {
    const StageTable& plain = problem_.plain.stages[static_cast<std::size_t>(stage)];
    return plain.capacity.count() == 0 || plain.memory[static_cast<std::size_t>(layers)] <= plain.capacity;
  }

  // least(s, n): the bound of the step with n layers in all chunks of stage s together. And the least with
  // which all layers can be placed.
  void find_least() {
    // An input comes through all stages before; so does the last gradient, the other way.
    sends_.assign(1, 0);
    for (std::size_t s = 0; s + 1 < static_cast<std::size_t>(stages_); ++s)
      sends_.push_back(sends_.back() + problem_.tables.activations[s].count() +
                       problem_.tables.gradients[s].count());
    least_.assign(static_cast<std::size_t>(stages_ * (layers_ + 1)), kNeverEnds);
    std::vector<std::int64_t> next(static_cast<std::size_t>(layers_ + 1));
    for (std::int64_t s = 0; s < stages_; ++s) {
      for (std::int64_t n = 0; n <= layers_; ++n) least(s, n) = time_of(s, n);
      for (std::int64_t chunk = s + stages_; chunk < chunks_; chunk += stages_) {
        std::ranges::fill(next, kNeverEnds);
        for (std::int64_t n = 0; n <= layers_; ++n)
          for (std::int64_t l = 0; l + n <= layers_; ++l) {
            std::int64_t& sum = next[static_cast<std::size_t>(n + l)];
            sum = std::min(sum, least(s, n) + time_of(chunk, l));
          }
        for (std::int64_t n = 0; n <= layers_; ++n) least(s, n) = next[static_cast<std::size_t>(n)];
      }
    }
    for (std::int64_t s = 0; s < stages_; ++s)
      for (std::int64_t n = 0; n <= layers_; ++n)
        least(s, n) = has_room(s, n) ? bound_of(s, n, least(s, n)) : kNeverEnds;
    std::vector<std::int64_t> times = least_;
    std::ranges::sort(times);
    const auto room = [&](std::int64_t longest) {
      std::int64_t sum = 0;
      for (std::int64_t s = 0; s < stages_; ++s) {
        const std::int64_t most = most_within(s, longest);
        if (most < 0) return std::int64_t{-1};
        sum += most;
      }
      return sum;
    };
    const auto at =
        std::ranges::partition_point(times, [&](std::int64_t time) { return room(time) < layers_; });
    balanced_longest_ = at == times.end() ? kNeverEnds : *at;
  }
  std::int64_t most_within(std::int64_t stage, std::int64_t longest) {
    std::int64_t most = -1;
    for (std::int64_t n = 0; n <= layers_; ++n)
      if (least(stage, n) <= longest && least(stage, n) < kNeverEnds) most = n;
    return most;
  }

  std::vector<std::int64_t> first() {
    std::vector<std::int64_t> of_stage;
    std::int64_t sum = 0;
    for (std::int64_t s = 0; s < stages_; ++s) {
      of_stage.push_back(most_within(s, balanced_longest_));
      sum += of_stage.back();
    }
    for (; sum > layers_; --sum) {
      std::int64_t longest = -1;
      for (std::int64_t s = 0; s < stages_; ++s) {
        const std::int64_t n = of_stage[static_cast<std::size_t>(s)];
        if (n > 0 &&
            (longest < 0 || least(s, n) > least(longest, of_stage[static_cast<std::size_t>(longest)])))
          longest = s;
      }
      --of_stage[static_cast<std::size_t>(longest)];
    }
    return spread_over_chunks(of_stage, chunks_ / stages_);
  }

  std::int64_t evaluate(std::span<const std::int64_t> layers) {
    ++answer_.evaluated;
    const std::int64_t time = problem_.exact(problem_.kinds, layers);
    if (time >= best_) return time;
    best_ = time;
    answer_.nanoseconds = time;
    answer_.layers.assign(layers.begin(), layers.end());
    answer_.kinds = problem_.kinds;
    return time;
  }

  void try_all(std::vector<std::int64_t>& layers, std::vector<std::int64_t>& loads, std::int64_t left) {
    const std::int64_t chunk = std::ssize(layers);
    std::int64_t& load = loads[static_cast<std::size_t>(chunk % stages_)];
    const std::int64_t before = load;
    const bool last = chunk + 1 == chunks_;
    for (std::int64_t l = last ? left : 0; l <= left; ++l) {
      load = before + time_of(chunk, l);
      if (problem_.tables.plan.micro_batches * load >= best_) continue;
      layers.push_back(l);
      if (last)
        evaluate(layers);
      else
        try_all(layers, loads, left - l);
      layers.pop_back();
    }
    load = before;
  }

  const ChunksProblem& problem_;
  const std::int64_t layers_, stages_, chunks_;
  std::vector<std::int64_t> least_;  // by stage and layers
  std::vector<std::int64_t> sends_;  // nanoseconds there and back between the first stage and each
  std::int64_t balanced_longest_ = 0;
  std::int64_t best_;
  PartitionAnswer answer_;
};

}  // namespace

PartitionAnswer ChunksProblem::solve(const PartitionEffort& effort) const {
  return InterleavedSearch(*this, effort.better_than).run();
}

// The first move that is better, and again from there.
PartitionAnswer improve_chunks(const PartitionProblem& problem, PartitionAnswer from, std::int64_t tries) {
  const std::int64_t chunks = std::ssize(from.layers);
  from.evaluated = 0;
  std::vector<std::int64_t> layers;
  for (bool better = true; better;) {
    better = false;
    for (std::int64_t distance = 1; distance < chunks && !better; ++distance)
      for (std::int64_t giver = 0; giver < chunks && !better; ++giver)
        for (const std::int64_t taker : {giver - distance, giver + distance}) {
          if (taker < 0 || taker >= chunks || from.layers[static_cast<std::size_t>(giver)] == 0) continue;
          if (from.evaluated == tries) return from;
          ++from.evaluated;
          layers = from.layers;
          --layers[static_cast<std::size_t>(giver)];
          ++layers[static_cast<std::size_t>(taker)];
          const std::int64_t time = problem.exact(from.kinds, layers);
          if (time >= from.nanoseconds) continue;
          better = true;
          from.nanoseconds = time;
          from.layers = layers;
        }
  }
  return from;
}

}  // namespace nadi::inline predict
