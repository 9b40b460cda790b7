// The command line of mpirun for a job. For Open MPI: tested with 4.1.
#pragma once

#include <filesystem>
#include <string>

#include "nadi/process/child_process.h"

namespace nadi::inline jobs {

struct LaunchRequest;

// Whether ranks may run on other hosts: the user named hosts, or the batch system's job has several.
bool spans_hosts(const LaunchRequest& request);

// `contact` is what the supervisors need to find us: see launch_socket.h.
ChildOptions mpirun_command(const LaunchRequest& request, const std::filesystem::path& mpirun,
                            const std::string& contact);

}  // namespace nadi::inline jobs
