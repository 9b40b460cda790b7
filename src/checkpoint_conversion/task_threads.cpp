#include "nadi/checkpoint_conversion/task_threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "nadi/base/error.h"

namespace nadi {
namespace {

constexpr auto kBetweenReports = std::chrono::milliseconds(100);

struct SharedWork {
  const TaskRun& work;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex = {};  // guards what follows
  std::condition_variable ended = {};
  std::size_t running = 0;
  std::exception_ptr failure = nullptr;

  void run(std::size_t thread) noexcept {
    try {
      while (!stopped) {
        const std::size_t task = next.fetch_add(1);
        if (task >= work.tasks) break;
        done += work.run(task, thread).count();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stopped = true;
    }
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_all();
  }

  // By the calling thread, until all have ended.
  void report() noexcept {
    std::unique_lock lock(mutex);
    while (running > 0) {
      ended.wait_for(lock, kBetweenReports, [&] { return running == 0; });
      if (!work.progress || stopped) continue;
      lock.unlock();
      try {
        work.progress(Bytes{done.load()}, work.total);
        lock.lock();
      } catch (...) {
        lock.lock();
        if (!failure) failure = std::current_exception();
        stopped = true;
      }
    }
  }
};

}  // namespace

void run_tasks(const TaskRun& work) {
  check(work.threads > 0, "tasks need at least one thread");
  SharedWork shared{.work = work};
  const std::size_t count = std::min(static_cast<std::size_t>(work.threads), work.tasks);
  // The program's handlers are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::thread> threads;
  try {
    for (std::size_t thread = 0; thread < count; ++thread) {
      {
        const std::lock_guard lock(shared.mutex);
        ++shared.running;
      }
      try {
        threads.emplace_back([&shared, thread] { shared.run(thread); });
      } catch (...) {
        const std::lock_guard lock(shared.mutex);
        --shared.running;
        throw;
      }
    }
  } catch (...) {
    // The system gives no more threads: those that run do the work, unless there are none.
    if (threads.empty()) shared.failure = std::current_exception();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  shared.report();
  for (std::thread& thread : threads) thread.join();
  if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace nadi
