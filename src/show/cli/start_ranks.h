// Commands that start their own ranks: `nadi train --num-ranks 8`, `nadi generate --tp 2`.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline show {

class Flags;
struct Console;

// Whether this process should start so many ranks instead of being one. Error (usage) where torchrun or
// another launcher of PyTorch started this process as one of several: each process would be a job of its own.
bool starts_ranks(std::int64_t ranks);

// Runs the same command ("train") on so many ranks, to its end; throws as run_job() of launched_job.h.
void start_ranks(std::string_view command, std::int64_t ranks, const Flags& flags, Console& console);

// Whether start_ranks() started this process: then the process that called it has read the same command line
// and printed its notes.
bool started_by_same_command();

}  // namespace nadi::inline show
