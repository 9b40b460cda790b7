#include "nadi/comm/plan_groups.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines {

PlanGroups::PlanGroups(Communicator& world, const Plan& plan) : world_(world) {
  if (plan.world_size() != world.size())
    throw usage_error(format("the plan needs {} ranks (tp {} x cp {} x dp {} x pp {}); {} are running",
                             plan.world_size(), plan.tp, plan.cp, plan.dp, plan.pp, world.size()),
                      "start as many ranks as the plan needs");
  // Kind by kind, so that ranks which have groups in common add them in the same order.
  for (int kind = 0; kind < kGroupKindCount; ++kind) {
    std::vector<Rank> members = group_members(plan, GroupKind{static_cast<std::uint8_t>(kind)}, world.rank());
    const auto own = std::ranges::find(members, world.rank());
    if (own == members.end() || (!plan.numbers_experts() && kind >= static_cast<int>(GroupKind::kExpert)))
      continue;
    const std::int64_t place = own - members.begin();
    kinds_[kind] = OfKind{.group = world.add_group(members), .place = place, .members = std::move(members)};
  }
}

PlanGroups::PlanGroups(Communicator& world, const PlanGroups& like) : world_(world), kinds_(like.kinds_) {
  for (std::optional<OfKind>& kind : kinds_)
    if (kind) kind->group = world.add_group(kind->members);
}

const PlanGroups::OfKind& PlanGroups::of(std::string_view name) const {
  const std::optional<OfKind>& found = kinds_[static_cast<std::size_t>(group_named(name))];
  check(found.has_value(), "this rank is not in the group");
  return *found;
}

}  // namespace nadi::inline engines
