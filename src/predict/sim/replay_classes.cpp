#include "nadi/sim/replay_classes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

using Colours = std::vector<std::uint32_t>;

// Numbers for keys, in the order of their first use.
class KeyNumbers {
 public:
  std::uint32_t of(const std::vector<std::uint64_t>& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers_;
};

// The role in which the rank at the other end of a message meets this one.
std::optional<std::uint32_t> counterpart(std::span<const ReplayRank> ranks,
                                         std::span<const ReplayProgram> programs, std::uint32_t rank,
                                         std::uint32_t role) {
  const ReplayRoleKind own = programs[ranks[rank].program].roles[role];
  const ReplayRoleKind wanted =
      own == ReplayRoleKind::kSend ? ReplayRoleKind::kReceive : ReplayRoleKind::kSend;
  const ReplayRank& other = ranks[ranks[rank].partners[role]];
  const std::vector<ReplayRoleKind>& roles = programs[other.program].roles;
  for (std::uint32_t r = 0; r < roles.size(); ++r)
    if (roles[r] == wanted && other.partners[r] == rank) return r;
  return std::nullopt;
}

Colours first_colours(std::span<const ReplayRank> ranks, std::size_t& count) {
  KeyNumbers numbers;
  Colours colours;
  std::vector<std::uint64_t> key;
  for (const ReplayRank& rank : ranks) {
    key = {rank.program,
           rank.durations,
           rank.device_kind,
           std::bit_cast<std::uint64_t>(rank.compute_share),
           std::bit_cast<std::uint64_t>(rank.busy_slowdown),
           reinterpret_cast<std::uintptr_t>(rank.skew)};
    for (const Nanoseconds time : rank.request_times) key.push_back(static_cast<std::uint64_t>(time.count()));
    colours.push_back(numbers.of(key));
  }
  count = numbers.size();
  return colours;
}

// What a meeting looks like: the kind of the group and the colours that come.
std::vector<std::uint64_t> colours_of(const ReplayGroup& group, const Colours& colours) {
  std::vector<std::uint64_t> key;
  for (const std::uint32_t member : group.members) key.push_back(colours[member]);
  std::ranges::sort(key);
  key.erase(std::unique(key.begin(), key.end()), key.end());
  key.push_back(group.tag);
  return key;
}

Colours refined(std::span<const ReplayRank> ranks, std::span<const ReplayGroup> groups,
                std::span<const ReplayProgram> programs, const Colours& colours, std::size_t& count) {
  KeyNumbers meetings, numbers;
  std::vector<std::uint32_t> meeting_of;
  for (const ReplayGroup& group : groups) meeting_of.push_back(meetings.of(colours_of(group, colours)));
  Colours finer;
  std::vector<std::uint64_t> key;
  constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    const ReplayRank& rank = ranks[r];
    key = {colours[r]};
    const std::vector<ReplayRoleKind>& roles = programs[rank.program].roles;
    for (std::uint32_t role = 0; role < roles.size(); ++role) {
      if (roles[role] == ReplayRoleKind::kCollective) {
        key.push_back(meeting_of[rank.partners[role]]);
        continue;
      }
      const auto back = counterpart(ranks, programs, r, role);
      key.push_back(colours[rank.partners[role]]);
      key.push_back(back ? *back : kNobody);
    }
    finer.push_back(numbers.of(key));
  }
  count = numbers.size();
  return finer;
}

}  // namespace

RankClasses find_classes(std::span<const ReplayRank> ranks, std::span<const ReplayGroup> groups,
                         std::span<const ReplayProgram> programs, bool symmetry) {
  RankClasses classes;
  if (!symmetry) {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      classes.class_of.push_back(r);
      classes.first.push_back(r);
    }
    return classes;
  }
  std::size_t count = 0, before = 0;
  classes.class_of = first_colours(ranks, count);
  while (count != before) {
    before = count;
    classes.class_of = refined(ranks, groups, programs, classes.class_of, count);
  }
  for (std::uint32_t r = 0; r < ranks.size(); ++r)
    if (classes.class_of[r] == classes.first.size()) classes.first.push_back(r);
  return classes;
}

void add_actors(ReplayJob& job, std::span<const ReplayRank> ranks, std::span<const ReplayGroup> groups,
                const RankClasses& classes) {
  KeyNumbers meetings;
  // By class and role of the sender.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> channels;
  const auto channel_of = [&](std::uint32_t from, std::uint32_t role) {
    const auto [entry, fresh] =
        channels.try_emplace({from, role}, static_cast<std::uint32_t>(channels.size()));
    if (fresh) job.channels.push_back({.from = from});
    return entry->second;
  };
  for (std::uint32_t c = 0; c < classes.first.size(); ++c) {
    const std::uint32_t number = classes.first[c];
    const ReplayRank& rank = ranks[number];
    ReplayActor actor{.program = rank.program,
                      .durations = rank.durations,
                      .request_times = rank.request_times,
                      .rank = static_cast<std::int32_t>(number),
                      .compute_share = rank.compute_share,
                      .busy_slowdown = rank.busy_slowdown,
                      .skew = rank.skew};
    const std::vector<ReplayRoleKind>& roles = job.programs[rank.program].roles;
    for (std::uint32_t role = 0; role < roles.size(); ++role) {
      const std::uint32_t partner = rank.partners[role];
      if (roles[role] == ReplayRoleKind::kCollective) {
        const std::uint32_t meeting = meetings.of(colours_of(groups[partner], classes.class_of));
        if (meeting == job.meetings.size()) job.meetings.push_back({.group = partner});
        std::vector<std::uint32_t>& actors = job.meetings[meeting].actors;
        if (actors.empty() || actors.back() != c) actors.push_back(c);
        actor.bindings.push_back(meeting);
        continue;
      }
      const auto back = counterpart(ranks, job.programs, number, role);
      const bool sends = roles[role] == ReplayRoleKind::kSend;
      if (!back)
        throw input_error(
            {}, sends ? format("rank {} sends to rank {}, which receives nothing from it", number, partner)
                      : format("rank {} receives from rank {}, which sends nothing to it", number, partner));
      const std::uint32_t channel =
          sends ? channel_of(c, role) : channel_of(classes.class_of[partner], *back);
      if (!sends) job.channels[channel].to = c;
      actor.bindings.push_back(channel);
    }
    job.actors.push_back(std::move(actor));
  }
}

}  // namespace nadi::inline predict
