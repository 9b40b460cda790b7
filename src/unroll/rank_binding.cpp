#include "nadi/unroll/rank_binding.h"

#include "nadi/base/error.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace_node.h"
#include "nadi/unroll/process_groups.h"

namespace nadi {

void add_rank_attributes(TraceNode& node, const RankBinding& binding, const Plan& plan,
                         const ProcessGroups& groups, Rank rank) {
  const auto peer = [&] {
    return to_number(group_members(plan, binding.group, rank)[static_cast<std::size_t>(binding.peer)]);
  };
  switch (binding.kind) {
    case RankBinding::Kind::kNone:
      return;
    case RankBinding::Kind::kCollective:
      add_process_group(node, groups.number(binding.group, rank));
      return;
    case RankBinding::Kind::kSend:
      add_comm_src(node, to_number(rank));
      add_comm_dst(node, peer());
      return;
    case RankBinding::Kind::kReceive:
      add_comm_src(node, peer());
      add_comm_dst(node, to_number(rank));
      return;
  }
  unreachable();
}

}  // namespace nadi
