// A job on several machines, whose launches are started by hand and meet (launch/launch_meeting.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "nadi/launch/launch_meeting.h"
#include "nadi/launched/launched_job.h"

namespace nadi::inline show {

struct LaunchNodes {
  std::optional<std::int64_t> ranks;  // on this machine, where --nproc-per-node says so
  int nodes = 1;
  int node = 0;  // this one
  MeetingPlace place = {};
  std::chrono::seconds patience{300};
};

// Runs a job on all nodes, to its end, as this one's part of it: node 0 as the host of the others; throws as
// run_job() of launched_job.h. `options` has the ranks of this machine. `planned` is the number of ranks that
// all nodes together must have, where a plan says so.
void run_job_on_nodes(const LaunchNodes& nodes, JobOptions options, std::optional<std::int64_t> planned,
                      Console& console);

}  // namespace nadi::inline show
