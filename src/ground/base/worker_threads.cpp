#include "nadi/base/worker_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "nadi/base/resource_shortage.h"
#include "nadi/base/signals_blocked.h"

namespace nadi::inline ground {

void run_workers(std::size_t workers, const std::function<void(std::size_t worker)>& work,
                 const std::function<void()>& on_failure) {
  if (workers == 0) return;
  std::vector<std::exception_ptr> failures(workers);
  const auto run = [&](std::size_t worker) {
    try {
      work(worker);
    } catch (...) {
      failures[worker] = std::current_exception();
      if (on_failure) on_failure();
    }
  };
  std::vector<std::thread> others;
  std::exception_ptr shortage;
  try {
    const SignalsBlocked blocked;
    others.reserve(workers - 1);
    for (std::size_t worker = 1; worker < workers; ++worker)
      start_thread(others, [&run, worker] { run(worker); });
  } catch (...) {
    shortage = std::current_exception();
    if (on_failure) on_failure();
  }
  if (!shortage) run(0);
  for (std::thread& other : others) other.join();
  if (shortage) std::rethrow_exception(shortage);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// Tasks are begun in order. So when one fails, those before it have been begun, and those of them that fail, too, are
// heard of: which one is the lowest does not depend on time.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t task, std::size_t worker)>& task) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards what follows
  std::size_t lowest = count;
  std::exception_ptr failure;
  const auto stop = [&] { next = count; };
  run_workers(
      std::min(std::max<std::size_t>(threads, 1), count),
      [&](std::size_t worker) {
        for (std::size_t i = next++; i < count; i = next++) {
          try {
            task(i, worker);
          } catch (...) {
            stop();
            const std::lock_guard lock(mutex);
            if (i < lowest) failure = std::current_exception();
            lowest = std::min(lowest, i);
          }
        }
      },
      stop);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nadi::inline ground
