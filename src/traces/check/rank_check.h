// Checks the ranks of one run against each other: every collective of a group has its partners, in the same
// order, of the same kind and size; every message that is sent is received, with the same size; and no rank
// is missing.
//
// At a position where the ranks of a group differ, what most of them do is taken for right, and the first
// rank that does something else is named. Behind the first difference nothing can be said about a group, so
// that there is one finding for each group at most.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "nadi/check/finding.h"
#include "nadi/check/group_members.h"
#include "nadi/check/rank_communication.h"

namespace nadi::inline traces {

struct Run {
  std::span<const RankCommunication> ranks;  // in the order of ranks, each once; not empty
  const GroupMembers* groups = nullptr;      // nothing where there is no file
  std::filesystem::path groups_file = {};    // where it is, or would be
};

// A run of one rank that communicates with others is not refused for it: one trace is often checked alone.
void check_ranks(const Run& run, Findings& findings);

}  // namespace nadi::inline traces
