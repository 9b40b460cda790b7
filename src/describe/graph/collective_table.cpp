#include "nadi/graph/collective_table.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

using Needs = CollectiveNeeds;

constexpr std::array kCollectives{
    CollectiveFacts{.type = CollectiveType::kAllReduce,
                    .chakra = "ALL_REDUCE",
                    .kineto_record = "allreduce",
                    .kineto_annotation = "all_reduce",
                    .prefix = "allreduce",
                    .bus_passes = 2,
                    .reduces = true},
    CollectiveFacts{.type = CollectiveType::kReduce,
                    .chakra = "REDUCE",
                    .kineto_record = "reduce",
                    .kineto_annotation = "reduce",
                    .prefix = "reduce",
                    .needs = Needs::kAllAtTheRoot,
                    .reduces = true},
    CollectiveFacts{.type = CollectiveType::kAllGather,
                    .chakra = "ALL_GATHER",
                    .kineto_record = "_allgather_base",
                    .kineto_annotation = "all_gather",
                    .prefix = "allgather",
                    .bus_passes = 1,
                    .sized_by_result = true},
    CollectiveFacts{.type = CollectiveType::kGather,
                    .chakra = "GATHER",
                    .kineto_record = "gather",
                    .kineto_annotation = "gather",
                    .prefix = "gather",
                    .needs = Needs::kAllAtTheRoot},
    CollectiveFacts{.type = CollectiveType::kScatter,
                    .chakra = "SCATTER",
                    .kineto_record = "scatter",
                    .kineto_annotation = "scatter",
                    .prefix = "scatter",
                    .needs = Needs::kRootEverywhere},
    CollectiveFacts{.type = CollectiveType::kBroadcast,
                    .chakra = "BROADCAST",
                    .kineto_record = "broadcast",
                    .kineto_annotation = "broadcast",
                    .prefix = "broadcast",
                    .needs = Needs::kRootEverywhere},
    CollectiveFacts{.type = CollectiveType::kAllToAll,
                    .chakra = "ALL_TO_ALL",
                    .kineto_record = "all_to_all",
                    .kineto_annotation = "all_to_all",
                    .prefix = "alltoall",
                    .bus_passes = 1},
    CollectiveFacts{.type = CollectiveType::kReduceScatter,
                    .chakra = "REDUCE_SCATTER",
                    .kineto_record = "_reduce_scatter_base",
                    .kineto_annotation = "reduce_scatter",
                    .prefix = "reducescatter",
                    .bus_passes = 1,
                    .reduces = true},
    CollectiveFacts{.type = CollectiveType::kReduceScatterBlock,
                    .chakra = "REDUCE_SCATTER_BLOCK",
                    .kineto_record = "",
                    .kineto_annotation = "",
                    .prefix = "",
                    .bus_passes = 1,
                    .reduces = true},
    CollectiveFacts{.type = CollectiveType::kBarrier,
                    .chakra = "BARRIER",
                    .kineto_record = "barrier",
                    .kineto_annotation = "barrier",
                    .prefix = "barrier"},
};

constexpr bool is_in_the_order_of_numbers() {
  for (std::size_t i = 0; i < kCollectives.size(); ++i)
    if (static_cast<std::size_t>(kCollectives[i].type) != i) return false;
  return true;
}
static_assert(is_in_the_order_of_numbers());
static_assert(kCollectives.back().type == CollectiveType::kBarrier);

}  // namespace

std::string_view to_string(CollectiveType type) {
  return collective_facts(type).chakra;
}

std::optional<CollectiveType> collective_type_from_number(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(collectives().size())) return std::nullopt;
  return static_cast<CollectiveType>(number);
}

std::span<const CollectiveFacts> collectives() {
  return kCollectives;
}

const CollectiveFacts& collective_facts(CollectiveType type) {
  const auto row = static_cast<std::size_t>(type);
  check(row < kCollectives.size(), "a collective is not in the table");
  return kCollectives[row];
}

std::optional<CollectiveType> collective_with_chakra_name(std::string_view name) {
  const auto* const found = std::ranges::find(kCollectives, name, &CollectiveFacts::chakra);
  return found == kCollectives.end() ? std::nullopt : std::optional(found->type);
}

std::optional<CollectiveType> collective_with_prefix(std::string_view name) {
  const CollectiveFacts* longest = nullptr;
  for (const CollectiveFacts& facts : kCollectives)
    if (!facts.prefix.empty() && name.starts_with(facts.prefix) &&
        (longest == nullptr || facts.prefix.size() > longest->prefix.size()))
      longest = &facts;
  return longest == nullptr ? std::nullopt : std::optional(longest->type);
}

double bus_factor(CollectiveType type, std::int64_t members) {
  const int passes = collective_facts(type).bus_passes;
  return passes == 0 ? 1.0 : passes * static_cast<double>(members - 1) / static_cast<double>(members);
}

}  // namespace nadi::inline describe
