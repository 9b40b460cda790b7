// A program that lives on when this one has ended: in a session of its own, with its output in a file.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace nadi {

struct DetachedOptions {
  std::vector<std::string> words;        // the program's path, and its arguments
  std::vector<std::string> environment;  // "NAME=value": all that it has
  std::filesystem::path output;          // standard output and error are appended to it
};

// Error (environment) when it cannot be started. Its process is no child of this one.
void start_detached(const DetachedOptions& options);

// When a process began, in ticks since the machine started: with its number, this names it for ever. 0: there
// is no such process.
unsigned long long process_start(pid_t pid);

}  // namespace nadi
