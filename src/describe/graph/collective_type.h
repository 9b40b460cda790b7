// Which collective a group of ranks does. The numbers are those of Chakra's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nadi::inline describe {

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

std::string_view to_string(CollectiveType type);  // Chakra's own spelling: "ALL_REDUCE"

// The enumerator with this number, or nothing when the schema has none.
std::optional<CollectiveType> collective_type_from_number(std::int64_t number);

}  // namespace nadi::inline describe
