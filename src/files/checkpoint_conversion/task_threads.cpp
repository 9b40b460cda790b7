#include "nadi/checkpoint_conversion/task_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "nadi/base/error.h"
#include "nadi/base/worker_threads.h"

namespace nadi::inline files {
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

  void run(std::size_t thread) {
    while (!stopped) {
      const std::size_t task = next.fetch_add(1);
      if (task >= work.tasks) break;
      done += work.run(task, thread).count();
    }
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_all();
  }

  // By the calling thread, until all have ended or one has failed.
  void report() {
    std::unique_lock lock(mutex);
    while (running > 0 && !stopped) {
      ended.wait_for(lock, kBetweenReports, [&] { return running == 0 || stopped; });
      if (!work.progress || stopped) continue;
      lock.unlock();
      work.progress(Bytes{done.load()}, work.total);
      lock.lock();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex);
    stopped = true;
    ended.notify_all();
  }
};

}  // namespace

void run_tasks(const TaskRun& work) {
  check(work.threads > 0, "tasks need at least one thread");
  const std::size_t threads = std::min(static_cast<std::size_t>(work.threads), work.tasks);
  SharedWork shared{.work = work, .running = threads};
  run_workers(
      threads + 1,
      [&](std::size_t worker) {
        if (worker == 0)
          shared.report();
        else
          shared.run(worker - 1);
      },
      [&] { shared.stop(); });
}

}  // namespace nadi::inline files
