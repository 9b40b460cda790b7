// Runs a program to its end, with its output as texts, for at most so long.
//
//   const ProgramRun run = run_program({.words = {"/usr/bin/squeue", "-h"}}, std::chrono::seconds(30));
//   if (!run.good()) ... run.err ...
#pragma once

#include <chrono>
#include <string>

#include "nadi/process/child_process.h"

namespace nadi::inline ground {

struct ProgramRun {
  EndStatus end = {};
  bool timed_out = false;  // it was killed after `patience`
  std::string out = {};
  std::string err = {};

  bool good() const { return !timed_out && end.good(); }
};

// Error (environment) when no process can be started, or it prints more than 1 GiB.
ProgramRun run_program(const ChildOptions& options, std::chrono::milliseconds patience);

}  // namespace nadi::inline ground
