#include "nadi/comm/channel_plan.h"

#include <algorithm>
#include <map>

#include "nadi/base/error.h"

namespace nadi::inline engines {
namespace {

struct Item {
  std::vector<std::size_t> members = {};  // ranks that need it
  std::optional<std::size_t> own = {};    // number of the own need
};

}  // namespace

// FNV-1a over the numbers, in their order: places in the group count. Needs are split in the order of these numbers, and by it
// in more or fewer rounds: not base/hash.h's, with which some plans take one more.
std::uint64_t hash_of_members(std::span<const Rank> members) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const Rank member : members) {
    hash ^= static_cast<std::uint64_t>(to_number(member)) + 1;
    hash *= 0x100000001b3U;
  }
  return hash;
}

ChannelPlan plan_channels(std::span<const std::vector<ChannelNeed>> of_ranks,
                          const ChannelPlanOptions& options) {
  std::vector<Rank> all;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    all.push_back(Rank{static_cast<std::int32_t>(rank)});
  const std::uint64_t everybody = hash_of_members(all);
  const auto self = static_cast<std::size_t>(to_number(options.own));

  std::map<ChannelNeed, Item> items;  // in the same order on all ranks
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (std::size_t need = 0; need < of_ranks[rank].size(); ++need) {
      Item& item = items[of_ranks[rank][need]];
      item.members.push_back(rank);
      if (rank == self) item.own = need;
    }

  ChannelPlan plan;
  bool world_taken = !options.world_is_free;
  struct RoundOfAll {
    std::vector<char> taken;
    std::int32_t colors = 0;
  };
  std::vector<RoundOfAll> rounds;
  for (const auto& [need, item] : items) {
    check(item.members.size() == static_cast<std::size_t>(need.size),
          "not all ranks of a group need its communicator");
    if (!world_taken && need.second < 0 && item.members.size() == of_ranks.size() &&
        need.members == everybody) {
      world_taken = true;
      plan.world = item.own;
      continue;
    }
    const auto fits = [&item = item](const RoundOfAll& round) {
      return std::ranges::none_of(item.members, [&](std::size_t rank) { return round.taken[rank] != 0; });
    };
    auto round = std::ranges::find_if(rounds, fits);
    if (round == rounds.end()) {
      round = rounds.insert(rounds.end(), RoundOfAll{.taken = std::vector<char>(of_ranks.size(), 0)});
      plan.rounds.emplace_back();
    }
    for (const std::size_t rank : item.members) round->taken[rank] = 1;
    if (item.own) plan.rounds[static_cast<std::size_t>(round - rounds.begin())] = {round->colors, *item.own};
    ++round->colors;
  }
  return plan;
}

}  // namespace nadi::inline engines
