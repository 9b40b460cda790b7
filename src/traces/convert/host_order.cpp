#include "nadi/convert/host_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace nadi::inline traces {

void link_host_order(const HostTrace& host, LinkGraph& graph) {
  std::vector<std::uint32_t> nodes(graph.size());
  std::iota(nodes.begin(), nodes.end(), 0U);
  const auto thread = [&](std::uint32_t node) { return host.thread[graph.row[node]]; };
  std::ranges::sort(nodes, {}, [&](std::uint32_t node) {
    return std::tuple{thread(node), to_number(host.nodes.id(graph.row[node]))};
  });
  for (std::size_t i = 1; i < nodes.size(); ++i)
    if (thread(nodes[i]) == thread(nodes[i - 1])) graph.before[nodes[i]] = nodes[i - 1];
}

}  // namespace nadi::inline traces
