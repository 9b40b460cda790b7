// Limits of sense: more ranks, threads or bytes than a machine can serve are refused before anything starts,
// since what begins anyway stands still for hours or fills the disk. --oversubscribe, and --max-bytes of
// traces, lift them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline show {

class Flags;

inline constexpr std::int64_t kMostRanksPerCore = 8;
inline constexpr std::int64_t kMostThreadsPerCore = 4;

// --oversubscribe.
void add_oversubscribe_flag(Flags& flags, std::string_view group = "flags");

// Ranks that would all run on this machine. `flag` is the one that asked for them. Error (environment) with
// the numbers where there are more than kMostRanksPerCore for each core that this process may use.
void check_ranks_here(const Flags& flags, std::string_view flag, std::int64_t ranks);
// Threads of one process, the same way.
void check_threads_here(const Flags& flags, std::string_view flag, std::int64_t threads);

// The same with the cores given. For tests.
void check_ranks_on(std::string_view flag, std::int64_t ranks, std::int64_t cores);
void check_threads_on(std::string_view flag, std::int64_t threads, std::int64_t cores);

// How many bytes may be written, and in words why: "2 GB are free on the disk of out".
struct WritableBytes {
  Bytes most = {};
  std::string reason;
};

// --max-bytes, else what is free on the disk of the folder that `path` is, or will be, in.
WritableBytes writable_bytes(const Flags& flags, const std::filesystem::path& path);

}  // namespace nadi::inline show
