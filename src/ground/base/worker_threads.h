// Several threads at one piece of work, the calling one among them.
//
//   parallel_for(files.size(), threads, [&](std::size_t file, std::size_t worker) {
//     sums[file] = sum_of(files[file], buffers[worker]);
//   });
//
// All threads have ended when the call returns or throws. The threads besides the calling one take no signals: the
// program's handlers are for its own. Error (environment) where the system gives no more threads.
#pragma once

#include <cstddef>
#include <functional>

namespace nadi::inline ground {

// Runs `task` for every number below `count`, in order of the numbers, on up to `threads` threads (at least one).
// `worker` counts from 0, for what each thread has for itself; 0 is the calling thread. After an exception no task is
// begun any more, and the exception of the task with the lowest number is thrown on: the same one, whatever
// the number of threads.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t task, std::size_t worker)>& task);

// Runs work(0) on the calling thread and work(1) ... work(workers - 1) each on a thread of its own. The exception of
// the lowest of them is thrown on when all have ended. `on_failure`, from the thread that failed, is there to tell
// the others to stop; it throws nothing.
void run_workers(std::size_t workers, const std::function<void(std::size_t worker)>& work,
                 const std::function<void()>& on_failure = {});

}  // namespace nadi::inline ground
