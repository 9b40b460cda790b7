// A replay that did not come to its end, in words: who waits for whom.
//
//   if (!outcome.stuck.empty()) throw deadlock_error(job, outcome.stuck, name_of_node);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "nadi/base/error.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/replay_outcome.h"

namespace nadi::inline predict {

// Error (input) that follows the waiting from the first stuck actor round its cycle, or to an actor that has
// run to its end. `name` gives the name of an actor's node.
Error deadlock_error(const ReplayJob& job, std::span<const StuckActor> stuck,
                     const std::function<std::string(std::uint32_t actor, std::uint32_t node)>& name);

}  // namespace nadi::inline predict
