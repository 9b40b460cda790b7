// The control groups (cgroups) of this process that may limit its memory: those of containers, batch systems
// and systemd. Version 1 and version 2 are read; of a hierarchy all levels count, since the tightest one
// decides.
//
//   for (const fs::path& folder : memory_groups()) ...      // innermost first
//
// The folders are what /proc/self/cgroup says, seen through the mounts in /proc/self/mountinfo: in a
// container the mount may begin in the middle of the hierarchy. `root` is where "/" is, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace nadi::inline ground {

enum class CgroupVersion : std::uint8_t { kOne = 1, kTwo = 2 };

struct MemoryGroup {
  std::filesystem::path folder;
  CgroupVersion version = CgroupVersion::kTwo;
};

// Empty where there are none, or they cannot be seen.
std::vector<MemoryGroup> memory_groups(const std::filesystem::path& root = "/");

// The number that is all of a file, or that stands after "name " on one of its lines. Nothing for "max", for
// a file that is not there, and for what is no number.
std::optional<std::int64_t> number_in_file(const std::filesystem::path& file);
std::optional<std::int64_t> number_in_file(const std::filesystem::path& file, std::string_view name);

}  // namespace nadi::inline ground
