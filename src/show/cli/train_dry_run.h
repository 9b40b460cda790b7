// `nadi train --dry-run`: what the run would do, and nothing of it done.
#pragma once

namespace nadi::inline show {

class Flags;
struct Console;
struct PlannedFlags;

// Prints the plan, the memory of each rank, data and steps, the files that would be written, and the expected
// time where --cluster names hardware. Errors are those that the run would begin with.
void preview_training(const PlannedFlags& planned, Console& console);

}  // namespace nadi::inline show
