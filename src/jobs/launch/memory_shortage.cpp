#include "nadi/launch/memory_shortage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/comm/communicator.h"
#include "nadi/process/free_memory.h"

namespace nadi::inline jobs {
namespace {

// The name alone may be the same on several machines: "localhost".
std::uint64_t this_machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::hash<std::string>()(name.data() + boot);
}

RankMemory this_rank(const MemorySummary& needed) {
  RankMemory rank{
      .machine = this_machine(),
      .needed = needed.total().count(),
      .state = (needed.of(Role::kParameter) + needed.of(Role::kGradient) + needed.of(Role::kOptimizerState))
                   .count()};
  const auto free = read_free_memory();
  if (!free) return rank;
  rank.machine_free = free->machine.count();
  if (free->group) {
    rank.group = std::max<std::uint64_t>(std::hash<std::string>()(free->group->folder), 1);
    rank.group_free = free->group->free.count();
    rank.group_limit = free->group->limit.count();
  }
  return rank;
}

// Ranks that take from the same memory.
struct Sharers {
  std::size_t first = 0;
  std::int64_t count = 0;
  std::int64_t needed = 0;
  std::int64_t state = 0;
  std::int64_t free = 0;
};

Sharers sharers_of(std::span<const RankMemory> ranks, std::size_t first, bool of_group) {
  const RankMemory& one = ranks[first];
  Sharers sharers{.first = first, .free = of_group ? one.group_free : one.machine_free};
  for (const RankMemory& other : ranks) {
    if (other.machine != one.machine || (of_group && other.group != one.group)) continue;
    ++sharers.count;
    sharers.needed += other.needed;
    sharers.state += other.state;
    sharers.free = std::min(sharers.free, of_group ? other.group_free : other.machine_free);
  }
  return sharers;
}

// `of_group`: a rank of the control group, where that is what limits the sharers.
std::optional<MemoryShortage> shortage_of(const Sharers& sharers, bool several_machines, bool on_gpu,
                                          const RankMemory* of_group) {
  if (sharers.free < 0 || sharers.needed <= sharers.free) return std::nullopt;
  const std::string_view kind = on_gpu ? "GPU" : "machine";
  const std::string machine =
      several_machines ? format("the {} of rank {}", kind, sharers.first) : format("this {}", kind);
  const std::string alone = several_machines ? format("rank {} needs", sharers.first) : "this run needs";
  const std::string who =
      sharers.count == 1 ? alone : format("the {} ranks on {} need", sharers.count, machine);
  const std::string limit = of_group != nullptr ? format("free of the {} that its control group allows",
                                                         to_string(Bytes{of_group->group_limit}))
                            : on_gpu            ? "free in its memory"
                                                : "free there";
  return MemoryShortage{
      .message = format("not enough memory{}: {} {}, and {} are {}", on_gpu ? " on the GPU" : "", who,
                        to_string(Bytes{sharers.needed}), to_string(Bytes{sharers.free}), limit),
      .state = Bytes{sharers.state},
      .free = Bytes{sharers.free}};
}

}  // namespace

std::optional<MemoryShortage> find_memory_shortage(std::span<const RankMemory> ranks) {
  const bool several_machines = std::ranges::any_of(
      ranks, [&](const RankMemory& rank) { return rank.machine != ranks.front().machine; });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    // A control group is the tighter one where it has a limit at all.
    if (ranks[rank].group != 0)
      if (auto shortage = shortage_of(sharers_of(ranks, rank, true), several_machines, false, &ranks[rank]))
        return shortage;
    if (auto shortage =
            shortage_of(sharers_of(ranks, rank, false), several_machines, ranks[rank].on_gpu, nullptr))
      return shortage;
  }
  return std::nullopt;
}

namespace {

std::optional<MemoryShortage> shortage_among(Communicator& world, const RankMemory& own) {
  std::vector<RankMemory> ranks(static_cast<std::size_t>(world.size()), own);
  if (world.size() > 1)
    world.wait(world.all_gather(kWorld, std::as_bytes(std::span(&own, 1)),
                                std::as_writable_bytes(std::span(ranks))));
  return find_memory_shortage(ranks);
}

}  // namespace

std::optional<MemoryShortage> find_memory_shortage(Communicator& world, const MemorySummary& needed) {
  return shortage_among(world, this_rank(needed));
}

std::optional<MemoryShortage> find_gpu_memory_shortage(Communicator& world, const EngineMemory& needed,
                                                       const cuda::GpuDescription& gpu) {
  return shortage_among(world, {.machine = std::hash<std::string>()(gpu.uuid),
                                .needed = needed.total().count(),
                                .state = (needed.variables + needed.padding).count(),
                                .machine_free = gpu.free.count(),
                                .on_gpu = true});
}

}  // namespace nadi::inline jobs
