#include "nadi/sim/replay_network.h"

#include <algorithm>
#include <string>
#include <utility>

namespace nadi::inline predict {

ReplayNetwork::ReplayNetwork(const Cluster& cluster, const NetworkOptions& options,
                             std::span<const DeviceId> placement, bool by_link)
    : model_(cluster, options),
      cluster_(cluster),
      placement_(placement.begin(), placement.end()),
      by_link_(by_link && cluster.device_count() <= kMostDevicesByLink) {
  for (const DeviceId device : placement_) node_of_rank_.push_back(model_.topology().node_of(device));
}

std::uint32_t ReplayNetwork::add_group(std::uint32_t tag, std::vector<std::uint32_t> members) {
  groups_.push_back({.tag = tag, .members = std::move(members)});
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::uint32_t ReplayNetwork::add_message(std::uint32_t from, std::uint32_t to) {
  const auto [entry, fresh] =
      message_numbers_.try_emplace({from, to}, static_cast<std::uint32_t>(messages_.size()));
  if (fresh) messages_.push_back({.from = from, .to = to});
  return entry->second;
}

std::vector<DeviceId> ReplayNetwork::devices_of(const ReplayGroup& group) const {
  std::vector<DeviceId> devices;
  for (const std::uint32_t member : group.members) devices.push_back(placement_[member]);
  return devices;
}

void ReplayNetwork::settle() {
  for (const ReplayGroup& group : groups_) shapes_.push_back(model_.group_of(devices_of(group)));
  // By how members lie: each group once, however many names it has.
  std::map<std::vector<std::uint32_t>, std::map<std::vector<std::uint32_t>, std::vector<std::size_t>>> alike;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<std::uint32_t>& members = groups_[g].members;
    std::vector<std::uint32_t> offsets;
    for (const std::uint32_t member : members) offsets.push_back(member - members.front());
    alike[offsets][members].push_back(g);
  }
  sharing_.assign(groups_.size(), 1);
  for (const auto& [offsets, at_once] : alike) {
    std::vector<std::vector<DeviceId>> devices;
    for (const auto& [members, numbers] : at_once) devices.push_back(devices_of(groups_[numbers.front()]));
    const std::vector<std::int32_t> sharing = model_.sharing_of(devices);
    std::size_t i = 0;
    for (const auto& [members, numbers] : at_once) {
      for (const std::size_t g : numbers) sharing_[g] = sharing[i];
      ++i;
    }
  }
  std::map<std::int64_t, std::vector<std::size_t>> by_distance;
  for (std::size_t m = 0; m < messages_.size(); ++m)
    by_distance[std::int64_t{messages_[m].to} - messages_[m].from].push_back(m);
  for (const auto& [distance, numbers] : by_distance) {
    std::vector<MessageEnds> ends;
    for (const std::size_t m : numbers)
      ends.push_back({placement_[messages_[m].from], placement_[messages_[m].to]});
    const std::vector<std::int32_t> sharing = model_.sharing_of(ends);
    for (std::size_t i = 0; i < numbers.size(); ++i) messages_[numbers[i]].sharing = sharing[i];
  }
}

Nanoseconds ReplayNetwork::collective(std::uint32_t group, CollectiveType type, Bytes size) {
  return model_.collective(type, size, shapes_[group], sharing_[group]);
}

Nanoseconds ReplayNetwork::message(std::uint32_t message, Bytes size) {
  const Message& one = messages_[message];
  return model_.message(size, placement_[one.from], placement_[one.to], one.sharing);
}

void ReplayNetwork::count_collective(std::uint32_t group, CollectiveType type, Bytes size,
                                     std::int64_t times) {
  auto& [example, count] = counted_[{shapes_[group], type, size.count()}];
  example = group;
  count += times;
  if (by_link_) counted_by_group_[{group, type, size.count()}] += times;
}

void ReplayNetwork::count_message(std::uint32_t message, Bytes size, std::int64_t times) {
  model_.add_traffic(size * times, placement_[messages_[message].from], placement_[messages_[message].to],
                     on_links_);
}

std::vector<LinkTraffic> ReplayNetwork::links() const {
  if (!by_link_) return {};
  const NetworkTopology& topology = model_.topology();
  const auto count = static_cast<std::size_t>(topology.link_count());
  std::vector<double> all = on_links_;
  all.resize(count);
  std::vector<double> bytes;
  for (const auto& [key, times] : counted_by_group_) {
    bytes.assign(count, 0);
    const std::vector<DeviceId> members = devices_of(groups_[std::get<0>(key)]);
    model_.add_traffic({.type = std::get<1>(key),
                        .size = Bytes{std::get<2>(key)},
                        .members = members,
                        .sharing = sharing_[std::get<0>(key)]},
                       bytes);
    for (std::size_t i = 0; i < count; ++i) all[i] += bytes[i] * static_cast<double>(times);
  }
  std::vector<LinkTraffic> links;
  for (std::size_t i = 0; i < count; ++i) {
    const LinkId id{static_cast<std::int32_t>(i)};
    std::string name = topology.link_name(id);
    // A mesh has a place for what a member would send to itself.
    if (const std::size_t to = name.find('>');
        to != std::string::npos && name.substr(0, to) == name.substr(to + 1))
      continue;
    links.push_back({.name = std::move(name),
                     .level = topology.link(id).level,
                     .bytes = Bytes{static_cast<std::int64_t>(all[i])},
                     .bandwidth = topology.link(id).bandwidth});
  }
  return links;
}

std::vector<LevelTraffic> ReplayNetwork::traffic() const {
  const NetworkTopology& topology = model_.topology();
  std::vector<double> by_level(1 + cluster_.levels.size());
  const auto add = [&](const std::vector<double>& bytes, double times) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > 0)
        by_level[static_cast<std::size_t>(topology.link(LinkId{static_cast<std::int32_t>(i)}).level)] +=
            bytes[i] * times;
  };
  add(on_links_, 1);
  std::vector<double> bytes;
  for (const auto& [key, counted] : counted_) {
    bytes.assign(bytes.size(), 0);
    const std::vector<DeviceId> members = devices_of(groups_[counted.first]);
    model_.add_traffic({.type = std::get<1>(key),
                        .size = Bytes{std::get<2>(key)},
                        .members = members,
                        .sharing = sharing_[counted.first]},
                       bytes);
    add(bytes, static_cast<double>(counted.second));
  }
  std::vector<LevelTraffic> levels;
  for (std::size_t level = 0; level < by_level.size(); ++level)
    levels.push_back(
        {.name = level == 0 ? "inside nodes" : cluster_.levels[level - 1].name,
         .fabric = level == 0 ? cluster_.node(0).inside.kind : cluster_.levels[level - 1].fabric.kind,
         .total = Bytes{static_cast<std::int64_t>(by_level[level])}});
  return levels;
}

}  // namespace nadi::inline predict
