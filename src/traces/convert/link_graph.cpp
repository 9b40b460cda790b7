#include "nadi/convert/link_graph.h"

#include <algorithm>

namespace nadi::inline traces {

namespace {

template <typename T, typename... Fields>
void sort_and_keep_first(std::vector<T>& list, Fields... fields) {
  std::ranges::stable_sort(list);
  const auto same = [&](const T& a, const T& b) { return ((a.*fields == b.*fields) && ...); };
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
}

template <typename Waits>
auto range_of(Waits& waits, std::uint32_t node) {
  return std::ranges::equal_range(waits, node, {}, &LinkedWait::node);
}

}  // namespace

void LinkGraph::sort_waits() {
  sort_and_keep_first(waits, &LinkedWait::node, &LinkedWait::awaited);
  std::ranges::stable_sort(shortened, {}, &ShortenedNode::node);
  has_waits.assign(size(), false);
  for (const LinkedWait& wait : waits) has_waits[wait.node] = true;
}

std::span<const LinkedWait> LinkGraph::waits_of(std::uint32_t node) const {
  if (!has_waits[node]) return {};
  const auto found = range_of(waits, node);
  return {found.begin(), found.end()};
}

std::span<LinkedWait> LinkGraph::waits_of(std::uint32_t node) {
  if (!has_waits[node]) return {};
  const auto found = range_of(waits, node);
  return {found.begin(), found.end()};
}

std::optional<Nanoseconds> LinkGraph::whole_duration(std::uint32_t node) const {
  const auto found = std::ranges::lower_bound(shortened, node, {}, &ShortenedNode::node);
  if (found == shortened.end() || found->node != node) return std::nullopt;
  return found->whole;
}

}  // namespace nadi::inline traces
