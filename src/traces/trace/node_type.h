// What a node of a trace does. The numbers are those of Chakra's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/graph/collective_type.h"

namespace nadi::inline traces {

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

// Chakra's own spelling: "COMM_COLL".
std::string_view to_string(NodeType type);

// The enumerator with this number, or nothing when the schema has none.
std::optional<NodeType> node_type_from_number(std::uint64_t number);

}  // namespace nadi::inline traces
