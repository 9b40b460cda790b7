#include "nadi/comm/message_lines.h"

#include <algorithm>
#include <tuple>

#include "nadi/comm/plan_groups.h"
#include "nadi/graph/op_definition.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines {

std::vector<MessageLine> message_lines(const Program& program, const PlanGroups& groups) {
  std::vector<MessageLine> lines;
  for (const Graph& graph : program.graphs)
    for (const Op& op : graph.ops()) {
      if (op.kind != OpKind::kSend && op.kind != OpKind::kReceive) continue;
      const std::string& group = op.attributes.text("group");
      const std::int64_t peer = op.attributes.integer("peer");
      lines.push_back({.group = groups.group(group),
                       .peer = peer,
                       .tag = op.attributes.integer("tag"),
                       .sends = op.kind == OpKind::kSend,
                       .other = groups.members(group)[static_cast<std::size_t>(peer)]});
    }
  const Rank own = groups.world().rank();
  std::ranges::sort(lines, {}, [own](const MessageLine& line) {
    return std::tuple(std::min(own, line.other), std::max(own, line.other), line.sends ? own : line.other,
                      line.tag);
  });
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

std::vector<CommGroup> groups_of_collectives(const Program& program, const PlanGroups& groups) {
  std::vector<CommGroup> found;
  for (const Graph& graph : program.graphs)
    for (const Op& op : graph.ops())
      if (definition(op.kind).op_class == OpClass::kCollective)
        found.push_back(groups.group(op.attributes.text("group")));
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace nadi::inline engines
