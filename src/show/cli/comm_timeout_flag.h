// --comm-timeout: how long the ranks of a job may go without progress (job/rank_watch.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "nadi/launch/rank_watch.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_comm_timeout_flag(Flags& flags, std::string_view group = "flags");

// What the flag says, nothing where it was not given or the command has none; 0 means for ever. Error (usage) for
// what is no duration.
std::optional<std::chrono::milliseconds> given_comm_timeout(const Flags& flags);
// The same, or what the launcher of this rank says, or the default.
std::chrono::milliseconds comm_timeout_of(const Flags& flags);

// Where the last collectives of ranks that hang are written: the folder of the run, that of the job, or the
// current one.
std::filesystem::path collectives_folder(const Flags& flags);

// What a rank of this command is watched with. A rank that hangs says so on standard error, and the process
// ends.
RankWatchOptions rank_watch_options(const Flags& flags, const Console& console);

}  // namespace nadi::inline show
