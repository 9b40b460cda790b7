// The groups of a plan that a rank is in, by the names that the graph's communication has for them.
//
//   const PlanGroups groups(world, plan);           // on every rank of the plan
//   world.all_reduce(groups.group("dp"), ...);
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/comm/communicator.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline engines {

class PlanGroups {
 public:
  // Collective. Error (usage) when the plan is for another number of ranks than there are.
  PlanGroups(Communicator& world, const Plan& plan);
  // Collective. The same groups of another communicator among the same ranks.
  PlanGroups(Communicator& world, const PlanGroups& like);

  Communicator& world() const { return world_; }

  // It is a bug to ask for a group that this rank is not in: of all kinds there is one, but of stages that
  // share embeddings.
  CommGroup group(std::string_view name) const { return of(name).group; }
  std::int64_t place(std::string_view name) const { return of(name).place; }
  const std::vector<Rank>& members(std::string_view name) const { return of(name).members; }

 private:
  struct OfKind {
    CommGroup group{};
    std::int64_t place = 0;
    std::vector<Rank> members = {};
  };
  const OfKind& of(std::string_view name) const;

  Communicator& world_;
  std::array<std::optional<OfKind>, kGroupKindCount> kinds_;
};

}  // namespace nadi::inline engines
