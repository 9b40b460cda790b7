#include "nadi/plan/partition_labels.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "nadi/base/error.h"

namespace nadi::inline predict {

UsedNodes::UsedNodes(const StagesProblem& problem) : problem_(problem) {
  number(std::vector<std::int32_t>(problem.nodes.size()));
}

std::int32_t UsedNodes::number(std::vector<std::int32_t> counts) {
  const auto [found, added] = numbers_.try_emplace(counts, static_cast<std::int32_t>(counts_.size()));
  if (added) {
    counts_.push_back(std::move(counts));
    next_.emplace_back(problem_.kinds.size(), -2);
  }
  return found->second;
}

std::int32_t UsedNodes::with(std::int32_t used, std::int32_t kind) {
  const auto from = static_cast<std::size_t>(used), by = static_cast<std::size_t>(kind);
  if (next_[from][by] != -2) return next_[from][by];
  std::vector<std::int32_t> counts = counts_[from];
  const std::vector<std::int32_t>& taken = problem_.kinds[by].nodes;
  bool enough = true;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    counts[i] += taken[i];
    enough = enough && counts[i] <= problem_.nodes[i];
  }
  const std::int32_t result = enough ? number(std::move(counts)) : kTooMany;
  next_[from][by] = result;
  return result;
}

std::int32_t UsedNodes::without(std::int32_t used, std::int32_t kind) {
  std::vector<std::int32_t> counts = counts_[static_cast<std::size_t>(used)];
  const std::vector<std::int32_t>& taken = problem_.kinds[static_cast<std::size_t>(kind)].nodes;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    counts[i] -= taken[i];
    check(counts[i] >= 0, "a stage gives back nodes that it did not take");
  }
  return number(std::move(counts));
}

bool PartitionLabels::is_too_long(const PartitionCosts& costs, const LabelLimits& limits) const {
  return costs.both() > limits.longest_stage ||
         (problem_.shape.micro_batches - 1) * costs.both() >= limits.better_than;
}

bool PartitionLabels::is_too_late(const PathBound& bound, std::int64_t before,
                                  const LabelLimits& limits) const {
  const std::int64_t after = bound.update + problem_.after_tails;
  return before + bound.backward_end + after >= limits.better_than ||
         std::max(bound.launch_end, bound.end) + after >= limits.better_than;
}

std::optional<std::size_t> PartitionLabels::Stage::find(const RearState& state) const {
  const auto at = std::ranges::lower_bound(states, state);
  if (at == states.end() || *at != state) return std::nullopt;
  return static_cast<std::size_t>(at - states.begin());
}

bool PartitionLabels::find_most(const LabelLimits& limits) {
  const std::int64_t stages = problem_.shape.stages, kinds = std::ssize(problem_.kinds);
  most_.assign(static_cast<std::size_t>(stages * kinds), -1);
  const std::int64_t send = least_send();
  for (std::int64_t s = 0; s < stages; ++s)
    for (std::int64_t k = 0; k < kinds; ++k)
      for (std::int64_t l = problem_.most(s, k); l >= problem_.fewest(s); --l) {
        const PartitionCosts& cost = problem_.cost(s, k, l);
        const std::int64_t end =
            s * send + (problem_.shape.micro_batches - 1) * cost.both() + cost.forward_after + cost.backward;
        if (cost.both() > limits.longest_stage ||
            end + cost.update + problem_.after_tails >= limits.better_than)
          continue;
        // Others may still run when its tail begins, but it has the way to itself and nothing comes back.
        if (s * least_activations() + (problem_.shape.micro_batches - 1) * cost.both() + cost.forward_after +
                cost.backward + cost.tail + cost.update + problem_.after_tails >=
            limits.better_than)
          continue;
        most_[problem_.place(s, k)] = l;
        break;
      }
  return has_places();
}

// Kinds that have places for few stages count where they gain most over the others.
bool PartitionLabels::has_places() const {
  const std::int64_t stages = problem_.shape.stages, kinds = std::ssize(problem_.kinds);
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < stages; ++s) {
    std::int64_t most_of_all = -1;
    for (std::int64_t k = 0; k < kinds; ++k) most_of_all = std::max(most_of_all, most(s, k));
    if (most_of_all < problem_.fewest(s)) return false;
    sum += most_of_all;
  }
  if (sum < problem_.layers || kinds != 2) return sum >= problem_.layers;
  for (std::int64_t few = 0; few < 2; ++few) {
    const PartitionStageKind& kind = problem_.kinds[static_cast<std::size_t>(few)];
    std::int64_t blocks = stages;
    for (std::size_t i = 0; i < kind.nodes.size(); ++i)
      if (kind.nodes[i] > 0) blocks = std::min<std::int64_t>(blocks, problem_.nodes[i] / kind.nodes[i]);
    std::int64_t room = 0;
    std::vector<std::int64_t> gains;
    for (std::int64_t s = 0; s < stages; ++s) {
      const std::int64_t other = std::max<std::int64_t>(0, most(s, 1 - few));
      room += other;
      gains.push_back(std::max<std::int64_t>(0, most(s, few) - other));
    }
    std::ranges::sort(gains, std::greater{});
    const std::int64_t held = std::min(stages, blocks * kind.stages_per_block);
    for (std::int64_t i = 0; i < held; ++i) room += gains[static_cast<std::size_t>(i)];
    if (room < problem_.layers) return false;
  }
  return true;
}

std::int64_t PartitionLabels::least_send() const {
  std::int64_t send = kNeverEnds;  // there and back
  for (const PartitionSend& between : problem_.send_between)
    send = std::min(send, between.activations + between.gradients);
  for (const PartitionStageKind& kind : problem_.kinds)
    if (kind.stages_per_block > 1)
      send = std::min(send, kind.send_within.activations + kind.send_within.gradients);
  return send;
}

std::int64_t PartitionLabels::least_activations() const {
  std::int64_t send = kNeverEnds;
  for (const PartitionSend& between : problem_.send_between) send = std::min(send, between.activations);
  for (const PartitionStageKind& kind : problem_.kinds)
    if (kind.stages_per_block > 1) send = std::min(send, kind.send_within.activations);
  return send;
}

// Whichever kinds the stages have, and however few nodes there are: a bound.
void PartitionLabels::find_least_before(const LabelLimits& limits) {
  const std::int64_t stages = problem_.shape.stages, layers = problem_.layers;
  const auto row = static_cast<std::size_t>(layers + 1);
  least_before_.assign(static_cast<std::size_t>(stages + 1) * row, kNeverEnds);
  least_before_[0] = 0;
  const std::int64_t send = least_send();
  std::vector<std::int64_t> stage_times(row);
  for (std::int64_t s = 0; s < stages; ++s) {
    std::ranges::fill(stage_times, kNeverEnds);
    std::int64_t most = -1;
    for (std::int64_t k = 0; k < std::ssize(problem_.kinds); ++k)
      for (std::int64_t l = problem_.fewest(s); l <= this->most(s, k); ++l) {
        const PartitionCosts& cost = problem_.cost(s, k, l);
        if (is_too_long(cost, limits)) continue;
        const std::int64_t time = cost.forward_after + cost.backward_after;
        stage_times[static_cast<std::size_t>(l)] = std::min(stage_times[static_cast<std::size_t>(l)], time);
        most = std::max(most, l);
      }
    const std::int64_t* before = &least_before_[static_cast<std::size_t>(s) * row];
    std::int64_t* after = &least_before_[static_cast<std::size_t>(s + 1) * row];
    for (std::int64_t placed = 0; placed <= layers; ++placed) {
      if (before[placed] >= kNeverEnds) continue;
      for (std::int64_t l = 0; l <= std::min(most, layers - placed); ++l) {
        const std::int64_t time = stage_times[static_cast<std::size_t>(l)];
        if (time < kNeverEnds) after[placed + l] = std::min(after[placed + l], before[placed] + time + send);
      }
    }
  }
}

// A step has one end and as many rounds as micro-batches.
void PartitionLabels::coarsen(PathBound& bound, const LabelLimits& limits) const {
  if (limits.grain <= 1) return;
  const auto round_down = [](std::int64_t& time, std::int64_t grain) {
    time -= (time % grain + grain) % grain;
  };
  // With several chunks all of them are counted about once, or as many times as there are groups.
  const std::int64_t times = problem_.shape.virtual_stages > 1
                                 ? problem_.shape.micro_batches / problem_.shape.stages
                                 : problem_.shape.micro_batches;
  const std::int64_t per_round = std::max<std::int64_t>(1, limits.grain / times);
  round_down(bound.round, per_round);
  round_down(bound.longest, per_round);
  round_down(bound.longest_part, per_round);
  round_down(bound.last_chunks, limits.grain);
  round_down(bound.joined, limits.grain);
  bound.backward_end -= bound.backward_end % limits.grain;
  bound.launch_end -= bound.launch_end % limits.grain;
  bound.end -= bound.end % limits.grain;
  bound.update -= bound.update % limits.grain;
}

std::vector<RearLabel>& PartitionLabels::open_labels(const RearState& state) {
  const auto kinds = static_cast<std::int32_t>(problem_.kinds.size());
  const auto at = (static_cast<std::size_t>(state.used) * static_cast<std::size_t>(kinds * places_) +
                   static_cast<std::size_t>(state.kind * places_ + state.place)) *
                      static_cast<std::size_t>(problem_.layers + 1) +
                  static_cast<std::size_t>(state.layers);
  if (at >= slots_.size()) slots_.resize(std::max(at + 1, 2 * slots_.size()), -1);
  if (slots_[at] < 0) {
    ++held_;
    slots_[at] = static_cast<std::int32_t>(open_.states.size());
    open_.states.push_back(state);
    open_.labels.emplace_back();
  }
  return open_.labels[static_cast<std::size_t>(slots_[at])];
}

void PartitionLabels::add(std::vector<RearLabel>& labels, const RearLabel& label, std::size_t most) {
  if (most == 1 && !labels.empty()) {
    RearLabel& only = labels.front();
    PathBound merged = only.bound;
    merged.merge(label.bound);
    if (label.bound.total() < only.bound.total()) only = label;
    only.bound = merged;
    return;
  }
  for (RearLabel& other : labels)
    if (other.bound.dominates(label.bound)) return other.bound.merge_detours(label.bound);
  RearLabel added = label;
  std::erase_if(labels, [&](const RearLabel& other) {
    const bool gone = added.bound.dominates(other.bound);
    if (gone) added.bound.merge_detours(other.bound);
    return gone;
  });
  labels.push_back(added);
  if (labels.size() <= most) return;
  // Too many: the two with the nearest ends become one that dominates both. Bounds stay bounds; the pipeline
  // that the label stands for is that of the better one.
  std::ranges::sort(labels, {}, [](const RearLabel& l) {
    return std::tuple(l.bound.total(), l.bound.round, l.bound.longest, l.bound.longest_part, l.layers);
  });
  std::size_t nearest = 0;
  std::int64_t distance = kNeverEnds;
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    const std::int64_t between = labels[i + 1].bound.total() - labels[i].bound.total() +
                                 std::abs(labels[i + 1].bound.round - labels[i].bound.round);
    if (between >= distance) continue;
    distance = between;
    nearest = i;
  }
  labels[nearest].bound.merge(labels[nearest + 1].bound);
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
}

void PartitionLabels::start(const LabelLimits& limits) {
  const std::int64_t last = problem_.shape.stages - 1;
  for (std::int32_t k = 0; k < std::ssize(problem_.kinds); ++k) {
    const std::int64_t most = this->most(last, k);
    const std::int64_t places = problem_.kinds[static_cast<std::size_t>(k)].stages_per_block;
    for (std::int32_t place = 0; place < std::min(places, problem_.shape.stages); ++place) {
      const std::int32_t used = place == 0 ? used_.with(UsedNodes::kNone, k) : UsedNodes::kNone;
      if (used == UsedNodes::kTooMany) continue;
      for (std::int64_t l = problem_.fewest(last); l <= most; ++l) {
        const PartitionCosts& cost = problem_.cost(last, k, l);
        const std::int64_t before = least_before(last, problem_.layers - l);
        if (before >= kNeverEnds || is_too_long(cost, limits)) continue;
        PathBound bound = last_stage(problem_.shape, cost);
        if (is_too_late(bound, before, limits)) continue;
        coarsen(bound, limits);
        add(open_labels({.used = used, .kind = k, .place = place, .layers = static_cast<std::int32_t>(l)}),
            {.bound = bound, .layers = static_cast<std::int32_t>(l)}, limits.labels);
      }
    }
  }
  close(last);
}

bool PartitionLabels::gives_up(const LabelLimits& limits) {
  constexpr std::size_t kLooksPerQuestion = 64;
  // Slots are numbers of four bytes, and are as many as there may be states.
  constexpr std::size_t kSlotsPerHeld = 16;
  if (held_ > limits.most_held || slots_.size() > kSlotsPerHeld * limits.most_held) return true;
  const bool asks = limits.stop != nullptr && *limits.stop && ++looks_ % kLooksPerQuestion == 0;
  return asks && (*limits.stop)();
}

bool PartitionLabels::extend(std::int64_t stage, const LabelLimits& limits) {
  const Stage& behind = stages_[static_cast<std::size_t>(stage + 1)];
  const auto kinds = static_cast<std::int32_t>(problem_.kinds.size());
  for (std::size_t i = 0; i < behind.states.size(); ++i) {
    const RearState& next = behind.states[i];
    if (gives_up(limits)) return false;
    for (std::int32_t k = 0; k < kinds; ++k) {
      if (next.place > 0 && k != next.kind) continue;
      const PartitionStageKind& kind = problem_.kinds[static_cast<std::size_t>(k)];
      const std::int32_t place =
          next.place > 0 ? next.place - 1 : static_cast<std::int32_t>(kind.stages_per_block - 1);
      if (place > stage) continue;
      const std::int32_t used = place == 0 ? used_.with(next.used, k) : next.used;
      if (used == UsedNodes::kTooMany) continue;
      const PartitionSend send =
          !problem_.given_sends.empty() ? problem_.given_sends[static_cast<std::size_t>(stage)]
          : next.place > 0              ? kind.send_within
                           : problem_.send_between[static_cast<std::size_t>(k * kinds + next.kind)];
      const std::int64_t left = problem_.layers - next.layers;
      const std::int64_t most = std::min(left, this->most(stage, k));
      for (std::int64_t l = stage == 0 ? left : problem_.fewest(stage); l <= most; ++l) {
        const PartitionCosts& cost = problem_.cost(stage, k, l);
        const std::int64_t least = least_before(stage, left - l);
        if (least >= kNeverEnds || is_too_long(cost, limits)) continue;
        const std::span<const RearLabel> labels = behind.of(i);
        std::vector<RearLabel>* target = nullptr;
        for (std::size_t j = 0; j < labels.size(); ++j) {
          ++bounds_;
          PathBound bound = with_stage_before(problem_.shape, labels[j].bound, cost, send, stage);
          if (is_too_late(bound, least, limits)) continue;
          coarsen(bound, limits);
          if (target == nullptr)
            target = &open_labels({.used = used,
                                   .kind = k,
                                   .place = place,
                                   .layers = static_cast<std::int32_t>(next.layers + l)});
          const std::size_t before = target->size();
          add(*target,
              {.bound = bound,
               .layers = static_cast<std::int32_t>(l),
               .next_state = static_cast<std::int32_t>(i),
               .next_label = static_cast<std::int32_t>(j)},
              limits.labels);
          held_ += target->size() - before;
        }
      }
    }
  }
  close(stage);
  return true;
}

void PartitionLabels::close(std::int64_t stage) {
  Stage& result = stages_[static_cast<std::size_t>(stage)];
  std::vector<std::size_t> order(open_.states.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return open_.states[i]; });
  result.first.push_back(0);
  for (const std::size_t i : order) {
    result.states.push_back(open_.states[i]);
    result.labels.insert(result.labels.end(), open_.labels[i].begin(), open_.labels[i].end());
    result.first.push_back(static_cast<std::uint32_t>(result.labels.size()));
  }
  open_ = {};
  std::ranges::fill(slots_, -1);
}

bool PartitionLabels::build(const LabelLimits& limits) {
  stages_.assign(static_cast<std::size_t>(problem_.shape.stages), {});
  open_ = {};
  std::ranges::fill(slots_, -1);
  held_ = 0;
  if (!find_most(limits)) return true;
  find_least_before(limits);
  for (const PartitionStageKind& kind : problem_.kinds)
    places_ =
        std::max(places_, static_cast<std::int32_t>(std::min(kind.stages_per_block, problem_.shape.stages)));
  start(limits);
  for (std::int64_t stage = problem_.shape.stages - 2; stage >= 0; --stage)
    if (!extend(stage, limits)) {
      stages_.assign(static_cast<std::size_t>(problem_.shape.stages), {});
      return false;
    }
  return true;
}

std::optional<PartitionLabels::Best> PartitionLabels::best() const {
  const Stage& first = stages_.front();
  Best best;
  std::size_t best_state = 0, best_label = 0;
  for (std::size_t i = 0; i < first.states.size(); ++i) {
    if (first.states[i].place != 0 || first.states[i].layers != problem_.layers) continue;
    for (std::size_t j = 0; j < first.of(i).size(); ++j)
      if (const std::int64_t bound = first.of(i)[j].bound.total() + problem_.after_tails;
          bound < best.bound) {
        best.bound = bound;
        best_state = i;
        best_label = j;
      }
  }
  if (best.bound >= kNeverEnds) return std::nullopt;
  for (const Stage& stage : stages_) {
    const RearLabel& label = stage.of(best_state)[best_label];
    best.kinds.push_back(stage.states[best_state].kind);
    best.layers.push_back(label.layers);
    best_state = static_cast<std::size_t>(label.next_state);
    best_label = static_cast<std::size_t>(label.next_label);
  }
  return best;
}

}  // namespace nadi::inline predict
