#include "nadi/convert/link_graph.h"

#include <algorithm>

namespace nadi {

void LinkGraph::sort_waits() {
  std::ranges::sort(waits);
  const auto repeated = std::ranges::unique(waits);
  waits.erase(repeated.begin(), repeated.end());
  has_waits.assign(size(), false);
  for (const auto& [node, awaited] : waits) has_waits[node] = true;
}

std::span<const std::pair<std::uint32_t, std::uint32_t>> LinkGraph::waits_of(std::uint32_t node) const {
  if (!has_waits[node]) return {};
  const auto found = std::ranges::equal_range(waits, node, {}, [](const auto& wait) { return wait.first; });
  return {found.begin(), found.end()};
}

}  // namespace nadi
