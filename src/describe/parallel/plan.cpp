#include "nadi/parallel/plan.h"

#include <array>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

constexpr std::array kSchedules{
    ScheduleEntry{ScheduleKind::k1F1B, "1f1b", "one forward, one backward: least memory"},
    ScheduleEntry{ScheduleKind::kGPipe, "gpipe", "all forwards, then all backwards"},
    ScheduleEntry{ScheduleKind::kInterleaved, "interleaved", "1f1b over several chunks of layers per rank"},
};

struct GroupName {
  GroupKind kind;
  std::string_view name;
};
constexpr std::array kGroups{
    GroupName{GroupKind::kTensor, "tp"},      GroupName{GroupKind::kContext, "cp"},
    GroupName{GroupKind::kData, "dp"},        GroupName{GroupKind::kPipeline, "pp"},
    GroupName{GroupKind::kModel, "mp"},       GroupName{GroupKind::kEmbedding, "embedding"},
    GroupName{GroupKind::kExpert, "ep"},      GroupName{GroupKind::kExpertTensor, "etp"},
    GroupName{GroupKind::kExpertData, "edp"}, GroupName{GroupKind::kWorld, "world"},
};

std::vector<Rank> expert_group_members(const Plan& plan, GroupKind kind, Rank rank) {
  if (!plan.numbers_experts()) return {rank};
  std::vector<Rank> members;
  ExpertCoordinates at = expert_coordinates_of(plan, rank);
  const auto along = [&](std::int64_t& place) {
    const std::int64_t size = group_size(plan, kind);
    for (place = 0; place < size; ++place) members.push_back(rank_at(plan, at));
  };
  if (kind == GroupKind::kExpert) along(at.ep);
  if (kind == GroupKind::kExpertTensor) along(at.etp);
  if (kind == GroupKind::kExpertData) along(at.edp);
  if (kind == GroupKind::kWorld)
    for (std::int64_t r = 0; r < plan.world_size(); ++r)
      members.push_back(Rank{static_cast<std::int32_t>(r)});
  return members;
}

}  // namespace

std::span<const ScheduleEntry> schedules() {
  return kSchedules;
}

std::string_view to_string(ScheduleKind kind) {
  for (const ScheduleEntry& entry : kSchedules)
    if (entry.kind == kind) return entry.name;
  unreachable();
}

std::string_view to_string(GroupKind kind) {
  for (const GroupName& entry : kGroups)
    if (entry.kind == kind) return entry.name;
  unreachable();
}

GroupKind group_named(std::string_view name) {
  for (const GroupName& entry : kGroups)
    if (entry.name == name) return entry.kind;
  check(false, "a graph names a group that no plan has");
  unreachable();
}

Coordinates coordinates_of(const Plan& plan, Rank rank) {
  std::int64_t number = to_number(rank);
  check(number >= 0 && number < plan.world_size(), "a rank is outside of the plan");
  Coordinates at;
  at.tp = number % plan.tp;
  number /= plan.tp;
  at.cp = number % plan.cp;
  number /= plan.cp;
  at.dp = number % plan.dp;
  at.pp = number / plan.dp;
  return at;
}

Rank rank_at(const Plan& plan, const Coordinates& at) {
  return Rank{static_cast<std::int32_t>(at.tp + plan.tp * (at.cp + plan.cp * (at.dp + plan.dp * at.pp)))};
}

ExpertCoordinates expert_coordinates_of(const Plan& plan, Rank rank) {
  std::int64_t number = to_number(rank);
  check(number >= 0 && number < plan.world_size(), "a rank is outside of the plan");
  ExpertCoordinates at;
  at.etp = number % plan.expert_tp();
  number /= plan.expert_tp();
  at.ep = number % plan.ep;
  number /= plan.ep;
  at.edp = number % plan.expert_copies();
  at.pp = number / plan.expert_copies();
  return at;
}

Rank rank_at(const Plan& plan, const ExpertCoordinates& at) {
  return Rank{static_cast<std::int32_t>(
      at.etp + plan.expert_tp() * (at.ep + plan.ep * (at.edp + plan.expert_copies() * at.pp)))};
}

std::vector<Rank> group_members(const Plan& plan, GroupKind kind, Rank rank) {
  const Coordinates own = coordinates_of(plan, rank);
  std::vector<Rank> members;
  const auto add = [&](Coordinates at) { members.push_back(rank_at(plan, at)); };
  Coordinates at = own;
  switch (kind) {
    case GroupKind::kTensor:
      for (at.tp = 0; at.tp < plan.tp; ++at.tp) add(at);
      return members;
    case GroupKind::kContext:
      for (at.cp = 0; at.cp < plan.cp; ++at.cp) add(at);
      return members;
    case GroupKind::kData:
      for (at.dp = 0; at.dp < plan.dp; ++at.dp)
        for (at.cp = 0; at.cp < plan.cp; ++at.cp) add(at);
      return members;
    case GroupKind::kPipeline:
      for (at.pp = 0; at.pp < plan.pp; ++at.pp) add(at);
      return members;
    case GroupKind::kModel:
      for (at.pp = 0; at.pp < plan.pp; ++at.pp)
        for (at.tp = 0; at.tp < plan.tp; ++at.tp) add(at);
      return members;
    case GroupKind::kEmbedding:
      at.pp = 0;
      add(at);
      at.pp = plan.pp - 1;
      if (plan.pp > 1) add(at);
      return members;
    case GroupKind::kExpert:
    case GroupKind::kExpertTensor:
    case GroupKind::kExpertData:
    case GroupKind::kWorld:
      return expert_group_members(plan, kind, rank);
  }
  unreachable();
}

std::int64_t group_size(const Plan& plan, GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor:
      return plan.tp;
    case GroupKind::kContext:
      return plan.cp;
    case GroupKind::kData:
      return plan.dp * plan.cp;
    case GroupKind::kPipeline:
      return plan.pp;
    case GroupKind::kModel:
      return plan.tp * plan.pp;
    case GroupKind::kEmbedding:
      return plan.pp > 1 ? 2 : 1;
    case GroupKind::kExpert:
      return plan.ep;
    case GroupKind::kExpertTensor:
      return plan.numbers_experts() ? plan.expert_tp() : 1;
    case GroupKind::kExpertData:
      return plan.numbers_experts() ? plan.expert_copies() : 1;
    case GroupKind::kWorld:
      return plan.numbers_experts() ? plan.world_size() : 1;
  }
  unreachable();
}

}  // namespace nadi::inline describe
