// The process between mpirun and one rank: starts the rank, sends its output, line by line, and its exit
// status to launch(), and signals the rank when launch() asks for it. Not for users.
//
// The conversation, over launch_socket.h:
//   supervisor: hello <secret> <rank>         launcher: welcome
//               started <host>
//               out <line>, err <line>                  terminate     SIGTERM for the rank
//               beat <line>                                           what the rank says: rank_beat.h
//               state <letter> <ms>                                   of a rank that says nothing: its
//               process
//                                                                     is R, S, D, T ..., and computed so long
//                                                       kill          SIGKILL
//               end exit 3 [oom] [asked]                bye           the supervisor may end
//
// A supervisor outlives its rank until it hears `bye`, since mpirun ends a job in which one process is
// missing. It ends rank and descendants when the connection closes, and the kernel ends the rank when the
// supervisor is killed. Whatever the rank has started ends with the rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/process/child_process.h"

namespace nadi::inline jobs {

// The first argument that makes a program of ours a supervisor; those after it are the rank's command.
inline constexpr std::string_view kSupervisorWord = "launch-rank";

// The environment variable that says where launch() listens. Every process of the job has it.
inline constexpr std::string_view kContactVariable = "NADI_LAUNCHER";

// How many threads a rank should use when neither its flags nor OMP_NUM_THREADS say: the cores of its host
// shared out.
inline constexpr std::string_view kThreadsVariable = "NADI_THREADS";

// What a rank's environment gets on a host with so many cores and ranks.
Environment rank_environment(int cores, int ranks_on_host);

// Returns the exit code for main(). Errors are printed.
int supervise_rank(const std::vector<std::string>& command);

}  // namespace nadi::inline jobs
