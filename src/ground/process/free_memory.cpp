#include "nadi/process/free_memory.h"

#include <algorithm>

#include "nadi/process/control_group.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

// What files of a control group are called in the two versions.
struct Names {
  const char* limit;
  const char* used;
  const char* inactive_cache;
  const char* active_cache;
  const char* kills;
};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                          "total_active_file", "memory.oom_control"};
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file", "active_file", "memory.events"};

const Names& names_of(CgroupVersion version) {
  return version == CgroupVersion::kOne ? kVersion1 : kVersion2;
}

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::optional<FreeMemory::Group> read_group(const MemoryGroup& group) {
  const Names& names = names_of(group.version);
  const auto limit = number_in_file(group.folder / names.limit);
  const auto used = number_in_file(group.folder / names.used);
  if (!limit || !used || *limit >= kUnlimited) return std::nullopt;
  const fs::path statistics = group.folder / "memory.stat";
  const std::int64_t cache = number_in_file(statistics, names.inactive_cache).value_or(0) +
                             number_in_file(statistics, names.active_cache).value_or(0);
  const std::int64_t kept = std::max<std::int64_t>(*used - cache, 0);
  return FreeMemory::Group{.folder = group.folder.string(),
                           .limit = Bytes{*limit},
                           .free = Bytes{std::max<std::int64_t>(*limit - kept, 0)}};
}

}  // namespace

std::optional<FreeMemory> read_free_memory(const fs::path& root) {
  const auto kibibytes = number_in_file(root / "proc/meminfo", "MemAvailable:");
  if (!kibibytes) return std::nullopt;
  FreeMemory memory{.machine = Bytes{*kibibytes * 1024}};
  for (const MemoryGroup& group : memory_groups(root)) {
    auto read = read_group(group);
    if (read && (!memory.group || read->free < memory.group->free)) memory.group = std::move(read);
  }
  return memory;
}

std::int64_t count_memory_kills(const fs::path& root) {
  std::int64_t kills = number_in_file(root / "proc/vmstat", "oom_kill").value_or(0);
  for (const MemoryGroup& group : memory_groups(root))
    kills += number_in_file(group.folder / names_of(group.version).kills, "oom_kill").value_or(0);
  return kills;
}

}  // namespace nadi::inline ground
