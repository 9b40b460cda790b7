// The process groups of a plan, numbered as a set of traces names them (`pg_name`): from 1, by kind in the
// order of GroupKind, then by first member. Only of the kinds that are asked for, and only groups of two or
// more.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

class ProcessGroups {
 public:
  ProcessGroups(const Plan& plan, const std::set<GroupKind>& kinds);

  bool empty() const { return groups_.empty(); }

  // Number of the rank's group, which must have been asked for and have several members.
  std::uint32_t number(GroupKind kind, Rank rank) const;

  // {"1": [0, 1], ...}: a line per group, members in the order of their places.
  std::string to_json() const;

 private:
  std::vector<std::vector<Rank>> groups_;                            // group n is at n - 1
  std::array<std::vector<std::uint32_t>, kGroupKindCount> numbers_;  // by rank; 0 means in none
};

// Kinds of the groups in which the program has collectives.
std::set<GroupKind> collective_groups(const Program& program);

}  // namespace nadi::inline traces
