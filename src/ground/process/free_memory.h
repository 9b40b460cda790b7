// How much memory a process on this machine may still take before the kernel ends somebody for it.
//
//   if (const auto memory = read_free_memory()) ... memory->least()
//
// Two things decide: what the machine has, and what the control groups (containers, batch systems) allow.
// Page cache counts as free in both, since the kernel drops it. Swap does not: a run that needs it stands
// still.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nadi/base/units.h"

namespace nadi::inline ground {

struct FreeMemory {
  Bytes machine;  // MemAvailable
  // The control group that has the least left. Nothing means no group has a limit.
  struct Group {
    std::string folder;
    Bytes limit;
    Bytes free;
  };
  std::optional<Group> group = {};

  Bytes least() const { return group && group->free < machine ? group->free : machine; }
};

// Nothing when the system does not say. `root` is where "/" is, for tests.
std::optional<FreeMemory> read_free_memory(const std::filesystem::path& root = "/");

// How often the kernel has ended a process because memory ran out: on the machine, or in one of our control
// groups. 0 when it does not say. It only ever grows: a process that got SIGKILL while it grew was most
// likely one of those.
std::int64_t count_memory_kills(const std::filesystem::path& root = "/");

}  // namespace nadi::inline ground
