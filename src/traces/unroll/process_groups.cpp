#include "nadi/unroll/process_groups.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/program.h"

namespace nadi::inline traces {

ProcessGroups::ProcessGroups(const Plan& plan, const std::set<GroupKind>& kinds) {
  const auto world = static_cast<std::size_t>(plan.world_size());
  for (const GroupKind kind : kinds) {
    if (group_size(plan, kind) < 2) continue;
    std::vector<std::uint32_t>& numbers = numbers_[static_cast<std::size_t>(kind)];
    numbers.assign(world, 0);
    for (std::size_t r = 0; r < world; ++r) {
      if (numbers[r] != 0) continue;
      const Rank rank{static_cast<std::int32_t>(r)};
      std::vector<Rank> members = group_members(plan, kind, rank);
      // Ranks between the first and the last stage are told the embedding group though they are not in it.
      if (members[0] != rank) continue;
      groups_.push_back(std::move(members));
      for (const Rank member : groups_.back())
        numbers[static_cast<std::size_t>(to_number(member))] = static_cast<std::uint32_t>(groups_.size());
    }
  }
}

std::uint32_t ProcessGroups::number(GroupKind kind, Rank rank) const {
  const std::vector<std::uint32_t>& numbers = numbers_[static_cast<std::size_t>(kind)];
  const auto r = static_cast<std::size_t>(to_number(rank));
  check(r < numbers.size() && numbers[r] != 0, "a rank takes part in a collective of a group it is not in");
  return numbers[r];
}

std::string ProcessGroups::to_json() const {
  std::string text = "{";
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    text += format("{}\n  \"{}\": [", g == 0 ? "" : ",", g + 1);
    const char* comma = "";
    for (const Rank member : groups_[g]) {
      text += format("{}{}", comma, to_number(member));
      comma = ", ";
    }
    text += ']';
  }
  return text + "\n}\n";
}

std::set<GroupKind> collective_groups(const Program& program) {
  std::set<GroupKind> kinds;
  for (const Graph& graph : program.graphs)
    for (const Op& op : graph.ops())
      if (definition(op.kind).op_class == OpClass::kCollective)
        kinds.insert(group_named(op.attributes.text("group")));
  return kinds;
}

}  // namespace nadi::inline traces
