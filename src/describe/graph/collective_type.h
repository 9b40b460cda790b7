// Which collective a group of ranks does. The numbers are those of Chakra's schema.
#pragma once

#include <cstdint>

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

}  // namespace nadi::inline describe
