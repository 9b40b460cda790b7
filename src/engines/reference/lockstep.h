// All ranks of a job in one process, on the reference engine: every rank runs until it has to meet others,
// a collective happens when all members of its group have come to it, and the ranks go on.
//
//   std::vector<LockstepRank> ranks{{&store0, {{.graph = &stage0}}}, {&store1, {{.graph = &stage1}}}};
//   run_lockstep(ranks, {{"pp", {{0, 1}}}});
//
// A send leaves its message and goes on; a receive waits for the message from its peer with its tag, first
// come first served. So programs that only work with buffered sends pass here.
//
// Errors (input): ranks that wait for each other, members of a group that meet at different ops, a group
// that is unknown or of another size than the op says, and messages that nobody received.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "nadi/reference/run_reference.h"

namespace nadi::inline engines {

struct LockstepRank {
  ReferenceStore* store = nullptr;
  std::vector<ReferenceTask> tasks;
};

// For each name of a group, the lists of ranks that form one: "tp" of four ranks may be {{0, 1}, {2, 3}}.
// A rank is in at most one list of a name; its place in the list is its place in the group.
using RankGroups = std::map<std::string, std::vector<std::vector<int>>>;

// What each rank gave to collectives and sent to others, in bytes of the tensors' own element types, by what
// really passed; a collective of one rank gives nothing.
struct LockstepReport {
  std::vector<Bytes> sent;
};
LockstepReport run_lockstep(std::span<const LockstepRank> ranks, const RankGroups& groups);

}  // namespace nadi::inline engines
