#include "network_cases.h"

#include "nadi/sim/network_examples.h"

namespace nadi {
namespace {

using Algorithm = CollectiveAlgorithm;
using Type = CollectiveType;
constexpr FabricTopology kSwitch = FabricTopology::kSwitch, kMesh = FabricTopology::kMesh,
                         kRing = FabricTopology::kRing, kBus = FabricTopology::kBus;

CaseMessage message(std::int64_t start_us, std::int64_t size, std::int32_t from, std::int32_t to) {
  return {Nanoseconds{start_us * 1000}, Bytes{size}, DeviceId{from}, DeviceId{to}};
}

CaseCollective collective(Type type, std::int64_t size, std::vector<DeviceId> members,
                          std::int64_t start_us = 0) {
  return {Nanoseconds{start_us * 1000}, type, Bytes{size}, std::move(members)};
}

// From every device to every other, of sizes that differ.
std::vector<CaseMessage> all_pairs(std::int32_t devices, std::int64_t size) {
  std::vector<CaseMessage> messages;
  for (std::int32_t from = 0; from < devices; ++from)
    for (std::int32_t to = 0; to < devices; ++to)
      if (from != to) messages.push_back(message(0, size * (1 + (from * 3 + to * 5) % 7), from, to));
  return messages;
}

// One node of 4 devices with fast links, seven of 4 with slow ones.
Cluster mixed_nodes(std::int64_t latency) {
  Cluster cluster =
      several_nodes(8, 4, example_fabric(kSwitch, 16e9, latency), example_fabric(kSwitch, 5e9, latency));
  cluster.kinds.push_back(cluster.kinds[0]);
  cluster.kinds[1].inside.bandwidth = ByteRate{230e9};
  cluster.kinds[1].outside = example_fabric(kSwitch, 12.5e9, latency);
  cluster.nodes[0] = 1;
  return cluster;
}

// Racks of two nodes with two devices each.
Cluster racks(std::int32_t count, std::int64_t latency) {
  Cluster cluster = several_nodes(2 * count, 2, example_fabric(kSwitch, 50e9, latency),
                                  example_fabric(kSwitch, 10e9, latency));
  cluster.levels[0].members = 2;
  cluster.levels.push_back(
      {.name = "racks", .members = count, .fabric = example_fabric(kSwitch, 12e9, latency)});
  return cluster;
}

Cluster with_cards(std::int32_t nodes, std::int32_t devices) {
  Fabric cards = example_fabric(kSwitch, 40e9, 5000);
  cards.device_bandwidth = ByteRate{12.5e9};
  return several_nodes(nodes, devices, example_fabric(kSwitch, 300e9, 1000), cards);
}

std::vector<CaseCollective> groups(Type type, std::int64_t size, std::int32_t count, std::int32_t members,
                                   std::int32_t step) {
  std::vector<CaseCollective> result;
  for (std::int32_t i = 0; i < count; ++i)
    result.push_back(collective(type, size * (1 + i), device_range(i, members, step)));
  return result;
}

std::vector<NetworkCase> one_fabric() {
  return {
      {.name = "switch_2_one_message",
       .cluster = one_node(2, example_fabric(kSwitch, 25e9, 2000)),
       .messages = {message(0, 100'000'000, 0, 1)}},
      {.name = "switch_4_many_to_one",
       .cluster = one_node(4, example_fabric(kSwitch, 25e9, 2000)),
       .messages = {message(0, 10'000'000, 1, 0), message(0, 20'000'000, 2, 0),
                    message(0, 50'000'000, 3, 0)}},
      {.name = "switch_8_messages_between_all",
       .cluster = one_node(8, example_fabric(kSwitch, 25e9, 2000)),
       .messages = all_pairs(8, 3'000'000)},
      {.name = "switch_4_late_messages",
       .cluster = one_node(4, example_fabric(kSwitch, 10e9, 3000)),
       .messages = {message(0, 50'000'000, 0, 1), message(1000, 50'000'000, 2, 1),
                    message(2500, 8'000'000, 0, 3), message(3000, 30'000'000, 2, 3)}},
      {.name = "switch_8_ring_all_reduce",
       .cluster = one_node(8, example_fabric(kSwitch, 300e9, 2000)),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = {collective(Type::kAllReduce, 512'000'000, device_range(0, 8))}},
      {.name = "switch_8_halving_doubling_all_reduce",
       .cluster = one_node(8, example_fabric(kSwitch, 300e9, 2000)),
       .options = {.algorithm = Algorithm::kHalvingDoubling},
       .collectives = {collective(Type::kAllReduce, 512'000'000, device_range(0, 8))}},
      {.name = "switch_6_direct_all_gather",
       .cluster = one_node(6, example_fabric(kSwitch, 100e9, 2000)),
       .options = {.algorithm = Algorithm::kDirect},
       .collectives = {collective(Type::kAllGather, 60'000'000, device_range(0, 6))}},
      {.name = "bus_4_messages",
       .cluster = one_node(4, example_fabric(kBus, 30e9, 1000)),
       .messages = {message(0, 30'000'000, 0, 1), message(0, 60'000'000, 1, 2),
                    message(0, 10'000'000, 3, 0)}},
      {.name = "bus_4_ring_all_reduce",
       .cluster = one_node(4, example_fabric(kBus, 30e9, 1000)),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = {collective(Type::kAllReduce, 100'000'000, device_range(0, 4))}},
      {.name = "mesh_4_messages_between_all",
       .cluster = one_node(4, example_fabric(kMesh, 75e9, 1500)),
       .messages = all_pairs(4, 20'000'000)},
      {.name = "mesh_5_direct_all_reduce",
       .cluster = one_node(5, example_fabric(kMesh, 100e9, 1500)),
       .options = {.algorithm = Algorithm::kDirect},
       .collectives = {collective(Type::kAllReduce, 200'000'000, device_range(0, 5))}},
      {.name = "ring_6_messages_between_all",
       .cluster = one_node(6, example_fabric(kRing, 50e9, 0)),
       .messages = all_pairs(6, 5'000'000)},
      {.name = "ring_8_all_reduce_both_ways",
       .cluster = one_node(8, example_fabric(kRing, 50e9, 1000)),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = {collective(Type::kAllReduce, 160'000'000, device_range(0, 8))}},
      {.name = "ring_6_with_a_failed_link",
       .cluster = one_node(6, example_fabric(kRing, 50e9, 0)),
       .options = {.faults = {{"device2-device3", 0}}},
       .messages = all_pairs(6, 5'000'000)},
  };
}

std::vector<NetworkCase> several_fabrics() {
  const Cluster four_nodes =
      several_nodes(4, 4, example_fabric(kSwitch, 300e9, 1000), example_fabric(kSwitch, 25e9, 5000));
  return {
      {.name = "nodes_4x4_four_data_parallel_groups",
       .cluster = four_nodes,
       .options = {.algorithm = Algorithm::kRing},
       .collectives = groups(Type::kAllReduce, 40'000'000, 4, 4, 4)},
      {.name = "nodes_4x4_hierarchical_all_reduce",
       .cluster = four_nodes,
       .options = {.algorithm = Algorithm::kHierarchical},
       .collectives = {collective(Type::kAllReduce, 640'000'000, device_range(0, 16))}},
      {.name = "nodes_4x4_all_to_all_beside_all_reduces",
       .cluster = four_nodes,
       .options = {.algorithm = Algorithm::kDirect},
       .collectives = {collective(Type::kAllToAll, 160'000'000, device_range(0, 16)),
                       collective(Type::kAllReduce, 80'000'000, device_range(0, 4, 4), 500)}},
      {.name = "nodes_4x4_own_cards_ring_all_reduce",
       .cluster = with_cards(4, 4),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = {collective(Type::kAllReduce, 320'000'000, device_range(0, 16))}},
      {.name = "nodes_2x4_own_cards_messages",
       .cluster = with_cards(2, 4),
       .messages = {message(0, 50'000'000, 0, 4), message(0, 50'000'000, 1, 4), message(0, 50'000'000, 1, 5),
                    message(0, 50'000'000, 2, 6), message(0, 50'000'000, 3, 7)}},
      {.name = "nodes_4x4_with_a_slow_link",
       .cluster = four_nodes,
       .options = {.algorithm = Algorithm::kRing, .faults = {{"node2.up", 0.25}}},
       .collectives = groups(Type::kAllReduce, 40'000'000, 4, 4, 4)},
      {.name = "mixed_nodes_data_parallel_groups",
       .cluster = mixed_nodes(4000),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = groups(Type::kAllReduce, 40'000'000, 4, 8, 4)},
      {.name = "mixed_nodes_pipeline_messages",
       .cluster = mixed_nodes(4000),
       .messages = {message(0, 40'000'000, 0, 4), message(0, 40'000'000, 1, 5), message(0, 40'000'000, 2, 6),
                    message(0, 40'000'000, 4, 8), message(0, 40'000'000, 5, 9),
                    message(0, 40'000'000, 6, 0)}},
      {.name = "racks_3_messages_between_all", .cluster = racks(3, 0), .messages = all_pairs(12, 2'000'000)},
      {.name = "racks_4_ring_all_reduce",
       .cluster = racks(4, 3000),
       .options = {.algorithm = Algorithm::kRing},
       .collectives = {collective(Type::kAllReduce, 320'000'000, device_range(0, 16))}},
      {.name = "ring_of_nodes_with_buses",
       .cluster = several_nodes(5, 2, example_fabric(kBus, 30e9, 0), example_fabric(kRing, 20e9, 0)),
       .messages = all_pairs(10, 1'000'000)},
  };
}

}  // namespace

std::vector<NetworkCase> network_cases() {
  std::vector<NetworkCase> cases = one_fabric();
  for (NetworkCase& more : several_fabrics()) cases.push_back(std::move(more));
  return cases;
}

}  // namespace nadi
