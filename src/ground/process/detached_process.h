// A program that lives on when this one has ended: in a session of its own, with its output in a file, under
// a keeper (job/process_keeper.h) that ends all that it started.
//
//   DetachedProcess script({.words = {"/bin/bash", "script.sh"}, .output = "slurm.txt", ...});
//   ... write down script.pid() ...
//   script.release();                     // only now it begins; without this, it never does
//
// The program finds the number of a descriptor in NADI_KEEPER: a line with a process there, "PID\n", ends
// everything below the keeper but that process and those above it, and the answer is how many could not be
// ended, "0\n".
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nadi/process/descriptor.h"
#include "nadi/process/end_status.h"

namespace nadi::inline ground {

struct DetachedOptions {
  std::vector<std::string> words;        // the program's path, and its arguments
  std::vector<std::string> environment;  // "NAME=value": all that it has
  std::filesystem::path output;          // standard output and error are appended to it
  std::string name;                      // of its control group
  // In the keeper, when the program and all below it have ended.
  std::function<void(const EndStatus& end)> on_end = {};
};

class DetachedProcess {
 public:
  // Error (environment) when it cannot be started. Neither process is a child of this one.
  explicit DetachedProcess(const DetachedOptions& options);
  DetachedProcess(const DetachedProcess&) = delete;
  DetachedProcess& operator=(const DetachedProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Error (environment) when the program cannot be executed.
  void release();

 private:
  std::string program_;
  pid_t pid_ = 0;
  Descriptor go_;      // the program waits for a byte, and ends when there is only an end
  Descriptor report_;  // what went wrong comes from here
};

// When a process began, in ticks since the machine started: with its number, this names it for ever. 0 means there
// is no such process.
unsigned long long process_start(pid_t pid);

}  // namespace nadi::inline ground
