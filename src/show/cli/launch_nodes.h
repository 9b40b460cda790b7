// torchrun's flags of `nadi launch`: so many ranks on each of several machines, whose launches are started by
// hand and meet (job/launch_meeting.h).
#pragma once

#include "nadi/launched/node_job.h"

namespace nadi::inline show {

class Flags;

// --nproc-per-node, --nnodes, --node-rank, --master-addr, --master-port and --join-timeout.
void add_node_flags(Flags& flags);

// Error (usage) for numbers that do not fit together.
LaunchNodes resolve_nodes(const Flags& flags);

}  // namespace nadi::inline show
