// What a node of a trace does, and which collective it is. The numbers are those of Chakra's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nadi {

enum class NodeType : std::uint8_t {
  kInvalid = 0,  // proto3's default: the writer of the file did not say
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kComp = 4,
  kCommSend = 5,
  kCommRecv = 6,
  kCommColl = 7,
};

enum class CollectiveType : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
};

// Chakra's own spelling: "COMM_COLL", "ALL_REDUCE".
std::string_view to_string(NodeType type);
std::string_view to_string(CollectiveType type);

// The enumerator with this number, or nothing when the schema has none.
std::optional<NodeType> node_type_from_number(std::uint64_t number);
std::optional<CollectiveType> collective_type_from_number(std::int64_t number);

}  // namespace nadi
