#include "nadi/unroll/rank_attributes.h"

#include "nadi/base/error.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_node.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {

void add_rank_attributes(TraceNode& node, const RankBinding& binding, const Plan& plan,
                         const ProcessGroups& groups, Rank rank) {
  switch (binding.kind) {
    case RankBinding::Kind::kNone:
      return;
    case RankBinding::Kind::kCollective:
      add_process_group(node, groups.number(binding.group, rank));
      return;
    case RankBinding::Kind::kSend:
      add_comm_src(node, to_number(rank));
      add_comm_dst(node, to_number(peer_of(plan, binding, rank)));
      return;
    case RankBinding::Kind::kReceive:
      add_comm_src(node, to_number(peer_of(plan, binding, rank)));
      add_comm_dst(node, to_number(rank));
      return;
  }
  unreachable();
}

}  // namespace nadi::inline traces
