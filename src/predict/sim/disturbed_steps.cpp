#include "nadi/sim/disturbed_steps.h"

#include <algorithm>
#include <vector>

namespace nadi::inline predict {
namespace {

// Steps that are judged together: what each rank has seen.
struct StepGroup {
  std::vector<std::int64_t> steps;
  std::vector<ProcessorUse> by_rank;

  void add(const StepGroup& other) {
    steps.insert(steps.end(), other.steps.begin(), other.steps.end());
    if (by_rank.empty()) by_rank.resize(other.by_rank.size());
    for (std::size_t r = 0; r < other.by_rank.size(); ++r) by_rank[r] += other.by_rank[r];
  }
  bool long_enough() const { return !by_rank.empty() && std::ranges::all_of(by_rank, can_be_judged); }
  bool disturbed() const {
    Nanoseconds own{};
    for (const ProcessorUse& use : by_rank) own += use.own;
    return std::ranges::any_of(by_rank, [&](ProcessorUse use) {
      use.own = own;
      return disturbed_share(use) > kDisturbed;
    });
  }
};

}  // namespace

JudgedSteps judge_steps(std::span<const std::map<std::int64_t, ProcessorUse>> ranks) {
  JudgedSteps result;
  if (ranks.empty()) return result;
  std::vector<StepGroup> groups;
  StepGroup open;
  for (const auto& [step, first] : ranks.front()) {
    StepGroup one{.steps = {step}, .by_rank = {}};
    for (const auto& uses : ranks)
      if (const auto found = uses.find(step); found != uses.end()) one.by_rank.push_back(found->second);
    if (one.by_rank.size() < ranks.size()) continue;
    open.add(one);
    if (!open.long_enough()) continue;
    groups.push_back(std::move(open));
    open = {};
  }
  if (!open.steps.empty() && !groups.empty()) groups.back().add(open);
  for (const StepGroup& group : groups) {
    result.judged.insert(group.steps.begin(), group.steps.end());
    if (group.disturbed()) result.disturbed.insert(group.steps.begin(), group.steps.end());
  }
  return result;
}

}  // namespace nadi::inline predict
