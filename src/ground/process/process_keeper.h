// A process between us and a program, which ends all that the program has started.
//
//   const pid_t keeper = fork();
//   if (keeper == 0) keep_program({.parent = ours, .group = "nadi-trial-4711.3"}, [&] { execve(...); });
//   waitpid(keeper, ...);       // the program and all below it are gone; it says how the program ended
//
// Programs of programs hide: in process groups and sessions of their own, and as orphans of parents that have
// ended. All orphans below the keeper become its children, and where a control group can be made
// (kill_group.h) they are in that, too. When the program has ended, however it did, the keeper kills the
// rest, and ends as the program did: with its exit code, or by its signal. The program leads a session of its
// own. Signals to the keeper: SIGTERM, SIGINT and SIGHUP are passed on to the program, and SIGUSR1 makes it
// kill everything at once; it gets that, too, when `parent` dies.
//
// A keeper below the keeper, of a job that is submitted by a job, is left alone with all that is below it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

#include "nadi/process/end_status.h"

namespace nadi::inline ground {

struct KeptProgram {
  pid_t parent = 0;          // everything is killed when it dies (its thread that forked); 0 means nothing is
  std::string group = {};    // the name of its control group; "": none is made
  int death_signal = 9;      // what the program gets when its keeper dies
  bool signal_group = true;  // signals are passed on to the program's process group; else to it alone
  // A stream socket: of each line "PID\n" that comes, everything below the keeper but the process PID and
  // those above it is ended, and "N\n" is the answer: how many could not be. -1 means there is none.
  int orders = -1;
  // In the keeper: when the program is there, which waits until this returns; and when all have ended.
  std::function<void(pid_t program)> on_start = {};
  std::function<void(const EndStatus& end)> on_end = {};
};

// In a process that was forked for this: it becomes the keeper. `become` executes the program in a child of
// it.
[[noreturn]] void keep_program(const KeptProgram& program, const std::function<void()>& become);

// How long a keeper tries to end what is left; what hangs in the kernel stays.
inline constexpr std::chrono::seconds kKeeperPatience{10};

}  // namespace nadi::inline ground
