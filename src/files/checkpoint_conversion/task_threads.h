// Runs numbered tasks on several threads, in order of their numbers, with progress and one error.
//
//   run_tasks({.tasks = 4000, .threads = 4, .total = 16_GB,
//              .run = [&](std::size_t task, std::size_t thread) { ...; return Bytes{done}; },
//              .progress = show});
//
// The calling thread only waits and reports. An exception, of a task or of `progress`, stops the others
// after the task that they are at, and is thrown on (worker_threads.h).
#pragma once

#include <cstddef>
#include <functional>

#include "nadi/base/units.h"

namespace nadi::inline files {

struct TaskRun {
  std::size_t tasks = 0;
  int threads = 1;
  Bytes total;                                                     // of all tasks, for progress
  std::function<Bytes(std::size_t task, std::size_t thread)> run;  // returns what it has done
  std::function<void(Bytes done, Bytes total)> progress = {};
};

void run_tasks(const TaskRun& work);

}  // namespace nadi::inline files
