#include "nadi/plan/partition_search.h"

#include <algorithm>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/plan/partition_labels.h"

namespace nadi::inline predict {
namespace {

// Bounds that differ by less than this part of a step are one. Small against what two partitions differ by: a
// layer more in one of them.
constexpr std::int64_t kGrains = 50'000;

class PartitionSearch {
 public:
  PartitionSearch(const StagesProblem& problem, const PartitionEffort& effort)
      : problem_(problem),
        effort_(effort),
        used_(problem),
        labels_(problem, used_),
        best_(effort.better_than) {}

  PartitionAnswer run() {
    search();
    answer_.work = labels_.bounds() + bounds_ + answer_.evaluated * evaluation_work(problem_.shape);
    return answer_;
  }

 private:
  void search() {
    if (!has_room()) {
      answer_.lower_bound = kNeverEnds;
      return;
    }
    if (effort_.better_than == kNeverEnds) {
      if (!find_first()) return;
      if (!answer_.found()) {
        answer_.lower_bound = kNeverEnds;  // the nodes do not suffice
        return;
      }
    } else if (!may_be_better()) {
      if (!gave_up_) answer_.lower_bound = effort_.better_than;
      return;
    } else if (effort_.labels == 1 || close_enough(answer_.lower_bound)) {
      return;
    }
    prove();
  }

  bool has_room() const {
    std::int64_t room = 0;
    for (std::int64_t s = 0; s < problem_.shape.stages; ++s) {
      std::int64_t most = -1;
      for (std::int64_t k = 0; k < std::ssize(problem_.kinds); ++k)
        most = std::max(most, problem_.most(s, k));
      if (most < problem_.fewest(s)) return false;
      room += most;
    }
    return room >= problem_.layers;
  }

  void evaluate(std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
    ++answer_.evaluated;
    const std::int64_t time = problem_.exact(kinds, layers);
    if (time >= best_) return;
    best_ = time;
    answer_.nanoseconds = time;
    answer_.kinds.assign(kinds.begin(), kinds.end());
    answer_.layers.assign(layers.begin(), layers.end());
  }

  // The smallest longest stage with which the layers can be placed, if every stage had its best kind.
  std::int64_t least_longest_stage() const {
    std::vector<std::int64_t> times;
    for (const PartitionCosts& cost : problem_.costs) times.push_back(cost.both());
    std::ranges::sort(times);
    const auto holds = [&](std::int64_t longest) {
      std::int64_t room = 0;
      for (std::int64_t s = 0; s < problem_.shape.stages; ++s) {
        std::int64_t most = -1;
        for (std::int64_t k = 0; k < std::ssize(problem_.kinds); ++k)
          for (std::int64_t l = problem_.most(s, k); l > most; --l) {
            if (problem_.cost(s, k, l).both() <= longest) most = l;
          }
        if (most < 0) return false;
        room += most;
      }
      return room >= problem_.layers;
    };
    const auto at = std::ranges::partition_point(times, [&](std::int64_t time) { return !holds(time); });
    return at == times.end() ? times.back() : *at;
  }

  // One bound per state, and only stages that are not much longer than they must be: fast, and near the best.
  // False: nothing is known, since there are too many states or it was stopped.
  bool find_first() {
    const std::int64_t longest = std::ranges::max(problem_.costs, {}, &PartitionCosts::both).both();
    for (std::int64_t limit = least_longest_stage();; limit += limit / 8 + 1) {
      limit = std::min(limit, longest);
      if (!labels_.build({.better_than = effort_.better_than,
                          .longest_stage = limit,
                          .labels = 1,
                          .stop = &effort_.stop}))
        return false;
      if (const auto first = labels_.best()) {
        evaluate(first->kinds, first->layers);
        if (answer_.found()) return true;
      }
      if (limit >= longest) return true;
    }
  }

  // One bound per state, of all that lead there: fast.
  bool may_be_better() {
    gave_up_ = !labels_.build({.better_than = effort_.better_than, .labels = 1, .stop = &effort_.stop});
    const auto first = labels_.best();
    if (!first) return false;
    answer_.lower_bound = first->bound;
    evaluate(first->kinds, first->layers);
    return true;
  }

  void prove() {
    // Without labels there is no proof; what was found stays.
    if (!labels_.build({.better_than = best_,
                        .labels = effort_.labels,
                        .grain = best_ / kGrains,
                        .stop = &effort_.stop}))
      return;
    const auto first = labels_.best();
    if (!first) {
      answer_.lower_bound = best_;
      return;
    }
    answer_.lower_bound = first->bound;
    evaluate(first->kinds, first->layers);
    if (close_enough(answer_.lower_bound)) return;
    kinds_.resize(static_cast<std::size_t>(problem_.shape.stages));
    layers_.resize(kinds_.size());
    sends_.resize(kinds_.size());
    const PartitionLabels::Stage& stage = labels_.stage(0);
    std::vector<Branch> branches;
    for (std::size_t i = 0; i < stage.states.size(); ++i)
      if (stage.states[i].place == 0 && stage.states[i].layers == problem_.layers)
        branches.push_back({.bound = bound_of(0, i), .state = i});
    descend(0, branches);
    if (!spent_) answer_.lower_bound = best_;
  }

  bool close_enough(std::int64_t bound) const {
    return bound >= best_ ||
           static_cast<double>(best_ - bound) <= effort_.tolerance * static_cast<double>(best_);
  }

  // A state of stage s, with all stages before it decided.
  struct Branch {
    std::int64_t bound = 0;
    std::size_t state = 0;
    std::int64_t layers = 0;  // of the stage before it
  };

  const PartitionSend& send_after(std::int64_t stage, std::int32_t kind, const RearState& next) const {
    if (!problem_.given_sends.empty()) return problem_.given_sends[static_cast<std::size_t>(stage)];
    if (next.place > 0) return problem_.kinds[static_cast<std::size_t>(kind)].send_within;
    const auto row = static_cast<std::size_t>(kind) * problem_.kinds.size();
    return problem_.send_between[row + static_cast<std::size_t>(next.kind)];
  }

  // Bound of all pipelines with the decided stages in front of this state.
  std::int64_t bound_of(std::int64_t stage, std::size_t state) {
    const PartitionLabels::Stage& labels = labels_.stage(stage);
    std::int64_t least = kNeverEnds;
    for (const RearLabel& label : labels.of(state)) {
      PathBound bound = label.bound;
      for (std::int64_t s = stage - 1; s >= 0 && bound.total() + problem_.after_tails < least; --s) {
        ++bounds_;
        const auto at = static_cast<std::size_t>(s);
        bound = with_stage_before(problem_.shape, bound, problem_.cost(s, kinds_[at], layers_[at]),
                                  sends_[at], s);
      }
      least = std::min(least, bound.total() + problem_.after_tails);
    }
    return least;
  }

  void descend(std::int64_t stage, std::vector<Branch>& branches) {
    std::ranges::stable_sort(branches, {}, &Branch::bound);
    for (const Branch& branch : branches) {
      if (close_enough(branch.bound)) return;
      if (bounds_ + answer_.evaluated * evaluation_bounds() >= effort_.work ||
          (effort_.stop && effort_.stop())) {
        spent_ = true;
        return;
      }
      if (stage > 0) decide(stage - 1, branch);
      follow(stage, branch.state);
      if (spent_) return;
    }
  }

  // What one evaluation takes, in bounds. With one chunk per stage most micro-batches are skipped.
  std::int64_t evaluation_bounds() const {
    constexpr std::int64_t kPassesPerBound = 8;
    return problem_.shape.virtual_stages > 1 ? evaluation_work(problem_.shape) / kPassesPerBound : 0;
  }

  void decide(std::int64_t stage, const Branch& branch) {
    const auto at = static_cast<std::size_t>(stage);
    layers_[at] = branch.layers;
    sends_[at] = send_after(stage, kinds_[at], labels_.stage(stage + 1).states[branch.state]);
  }

  // All numbers of layers of the stage, and all states that may come after it.
  void follow(std::int64_t stage, std::size_t state_number) {
    const RearState state = labels_.stage(stage).states[state_number];
    const auto at = static_cast<std::size_t>(stage);
    kinds_[at] = state.kind;
    if (stage + 1 == problem_.shape.stages) {
      layers_[at] = state.layers;
      evaluate(kinds_, layers_);
      return;
    }
    const PartitionStageKind& kind = problem_.kinds[static_cast<std::size_t>(state.kind)];
    const std::int32_t used = state.place == 0 ? used_.without(state.used, state.kind) : state.used;
    const bool within = state.place + 1 < kind.stages_per_block;
    const std::int64_t most = std::min<std::int64_t>(state.layers, problem_.most(stage, state.kind));
    std::vector<Branch> branches;
    for (std::int32_t k = 0; k < std::ssize(problem_.kinds); ++k) {
      if (within && k != state.kind) continue;
      RearState next{.used = used, .kind = k, .place = within ? state.place + 1 : 0};
      for (std::int64_t l = problem_.fewest(stage); l <= most; ++l) {
        next.layers = static_cast<std::int32_t>(state.layers - l);
        const auto found = labels_.stage(stage + 1).find(next);
        if (!found) continue;
        Branch branch{.state = *found, .layers = l};
        decide(stage, branch);
        branch.bound = bound_of(stage + 1, *found);
        if (!close_enough(branch.bound)) branches.push_back(branch);
      }
    }
    descend(stage + 1, branches);
  }

  const StagesProblem& problem_;
  const PartitionEffort& effort_;
  UsedNodes used_;
  PartitionLabels labels_;
  PartitionAnswer answer_;
  std::int64_t best_;
  std::int64_t bounds_ = 0;
  bool spent_ = false;
  bool gave_up_ = false;             // the labels of may_be_better() were not built
  std::vector<std::int32_t> kinds_;  // decided, by stage
  std::vector<std::int64_t> layers_;
  std::vector<PartitionSend> sends_;  // to the stage after
};

}  // namespace

PartitionAnswer StagesProblem::solve(const PartitionEffort& effort) const {
  const auto places = static_cast<std::size_t>(shape.stages) * kinds.size();
  check(costs.size() == places * static_cast<std::size_t>(layers + 1) && most_layers.size() == places &&
            send_between.size() == kinds.size() * kinds.size(),
        "a partition problem is not whole");
  return PartitionSearch(*this, effort).run();
}

}  // namespace nadi::inline predict
