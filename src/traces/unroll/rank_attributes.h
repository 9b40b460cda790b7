// The attributes of a trace node that differ between ranks of the same program: the process group of a
// collective, and source and destination of a message. Everything else is shared: a node is made once and
// bound to each rank.
#pragma once

#include "nadi/parallel/plan.h"
#include "nadi/parallel/rank_binding.h"

namespace nadi::inline traces {

struct TraceNode;
class ProcessGroups;

// Adds the attributes that the binding stands for, behind those that are there: `pg_name` of a collective,
// `comm_src` and `comm_dst` of a message.
void add_rank_attributes(TraceNode& node, const RankBinding& binding, const Plan& plan,
                         const ProcessGroups& groups, Rank rank);

}  // namespace nadi::inline traces
