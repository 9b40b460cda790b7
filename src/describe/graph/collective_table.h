// Collective operations, one row each: what everybody calls them, and what follows from what they do.
//
//   collective_facts(CollectiveType::kAllReduce).bus_passes   // 2
//   collective_with_prefix("allreducesum")                    // kAllReduce
//
// A new collective is a new row here and an enumerator in collective_type.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "nadi/graph/collective_type.h"

namespace nadi::inline describe {

// Whose input a member's result is made of; so, whom it has to wait for.
enum class CollectiveNeeds : std::uint8_t {
  kEverybody,      // every member's result of every member's input: nobody leaves before all have come
  kAllAtTheRoot,   // only the root's result, of every member's input: the others may leave early
  kRootEverywhere  // every member's result of the root's input: the root may leave early
};

struct CollectiveFacts {
  CollectiveType type;
  std::string_view chakra;             // as Chakra's schema spells it: "ALL_REDUCE"
  std::string_view kineto_record;      // PyTorch's record of the parameters: "allreduce", "_allgather_base"
  std::string_view kineto_annotation;  // and the annotation around the call: "all_reduce"
  // How such names start, and those of NCCL's kernels, in lower case without underscores. Empty means PyTorch has
  // none.
  std::string_view prefix;
  // Bytes on each link of a ring are so many times (n - 1) / n of the algorithm's size, as nccl-tests count
  // bus bandwidth; 0 means as many as the size.
  int bus_passes = 0;
  CollectiveNeeds needs = CollectiveNeeds::kEverybody;
  bool reduces = false;  // combines elements: sum, maximum ...
  // The algorithm's size is that of the whole result, n times what a member puts in.
  bool sized_by_result = false;
};

std::span<const CollectiveFacts> collectives();  // in the order of Chakra's numbers
const CollectiveFacts& collective_facts(CollectiveType type);

std::optional<CollectiveType> collective_with_chakra_name(std::string_view name);

// The collective whose prefix the name starts with, the longest of several: "reducescatter" is no "reduce".
std::optional<CollectiveType> collective_with_prefix(std::string_view name);

// Bus bandwidth over algorithm bandwidth, among `members` ranks.
double bus_factor(CollectiveType type, std::int64_t members);

}  // namespace nadi::inline describe
