#include "nadi/plan/device_runs.h"

#include <limits>
#include <unordered_set>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline predict {
namespace {

// A count at the start of the text, which it is taken from.
bool take_count(std::string_view& text, std::int64_t& count) {
  return !text.starts_with('-') && take_number(text, count);
}

std::string numbers_text(std::int64_t first, std::int64_t last) {
  return first == last ? format("{}", first) : format("{}-{}", first, last);
}

std::string counted(std::string_view noun, std::int64_t first, std::int64_t last) {
  return format("{}{} {}", noun, first == last ? "" : "s", numbers_text(first, last));
}

}  // namespace

std::string device_runs_text(std::span<const DeviceId> devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && to_number(devices[end]) == to_number(devices[end - 1]) + 1) ++end;
    if (!text.empty()) text += ',';
    text += numbers_text(to_number(devices[i]), to_number(devices[end - 1]));
    i = end;
  }
  return text;
}

std::optional<std::vector<DeviceId>> parse_device_runs(std::string_view text, std::int64_t count,
                                                       std::string& problem) {
  std::vector<DeviceId> devices;
  std::unordered_set<std::int64_t> seen;
  const auto fail = [&](std::string why) {
    problem = std::move(why);
    return std::nullopt;
  };
  for (std::string_view rest = text;; rest.remove_prefix(1)) {
    std::int64_t first = 0, last = 0;
    if (!take_count(rest, first)) return fail("no list of devices");
    last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!take_count(rest, last)) return fail("no list of devices");
    }
    if (last < first) return fail(format("the run {}-{} has its ends in the wrong order", first, last));
    if (last > std::numeric_limits<std::int32_t>::max()) return fail(format("there is no device {}", last));
    if (last - first >= count - static_cast<std::int64_t>(devices.size()))
      return fail(format("more devices than the {} rank{} of the plan", count, count == 1 ? "" : "s"));
    for (std::int64_t device = first; device <= last; ++device) {
      if (!seen.insert(device).second) return fail(format("device {} is named twice", device));
      devices.push_back(DeviceId{static_cast<std::int32_t>(device)});
    }
    if (rest.empty()) break;
    if (!rest.starts_with(',')) return fail("no list of devices");
  }
  if (static_cast<std::int64_t>(devices.size()) != count)
    return fail(format("{} device{} for the {} ranks of the plan", devices.size(),
                       devices.size() == 1 ? "" : "s", count));
  return devices;
}

std::vector<NodeRanks> nodes_in_order_of_ranks(const Cluster& cluster, std::span<const DeviceId> devices) {
  std::vector<std::int32_t> node_of;
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
    node_of.insert(node_of.end(),
                   static_cast<std::size_t>(cluster.node(static_cast<std::int32_t>(node)).devices),
                   static_cast<std::int32_t>(node));
  std::vector<NodeRanks> nodes;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const std::int32_t node = node_of[static_cast<std::size_t>(to_number(devices[rank]))];
    if (nodes.empty() || nodes.back().node != node)
      nodes.push_back({.node = node,
                       .kind = cluster.nodes[static_cast<std::size_t>(node)],
                       .first_rank = static_cast<std::int64_t>(rank)});
    ++nodes.back().ranks;
  }
  return nodes;
}

std::vector<std::string> placement_lines(const Cluster& cluster, std::span<const DeviceId> devices) {
  const std::vector<NodeRanks> nodes = nodes_in_order_of_ranks(cluster, devices);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < nodes.size();) {
    const NodeRanks& first = nodes[i];
    std::size_t end = i + 1;
    while (end < nodes.size() && nodes[end].kind == first.kind && nodes[end].ranks == first.ranks &&
           nodes[end].node == nodes[end - 1].node + 1)
      ++end;
    const NodeRanks& last = nodes[end - 1];
    const NodeSpec& kind = cluster.kinds[static_cast<std::size_t>(first.kind)];
    lines.push_back(format(
        "{} on {} ({}, {} of {} x {}{})", counted("rank", first.first_rank, last.first_rank + last.ranks - 1),
        counted("node", first.node, last.node), kind.name, first.ranks, kind.devices,
        cluster.devices[static_cast<std::size_t>(kind.device)].name, end - i > 1 ? " each" : ""));
    i = end;
  }
  return lines;
}

}  // namespace nadi::inline predict
