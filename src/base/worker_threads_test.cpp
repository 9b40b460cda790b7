#include "nadi/base/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace nadi {
namespace {

using testing::Each;
using testing::Lt;

TEST(ParallelFor, DoesEveryTaskOnce) {
  for (const std::size_t threads : {0, 1, 3, 200}) {
    std::vector<std::atomic<int>> done(100);
    std::vector<std::atomic<std::size_t>> worker(100);
    parallel_for(done.size(), threads, [&](std::size_t task, std::size_t by) {
      ++done[task];
      worker[task] = by;
    });
    EXPECT_THAT(std::vector<int>(done.begin(), done.end()), Each(1)) << threads;
    EXPECT_THAT(std::vector<std::size_t>(worker.begin(), worker.end()),
                Each(Lt(std::max<std::size_t>(threads, 1))))
        << threads;
  }
  parallel_for(0, 4, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(ParallelFor, TheCallingThreadIsWorkerZero) {
  const std::thread::id here = std::this_thread::get_id();
  parallel_for(50, 3, [&](std::size_t, std::size_t worker) {
    EXPECT_EQ(worker == 0, std::this_thread::get_id() == here);
  });
}

// The later task fails first: it waits for nothing, the earlier one for the later one.
TEST(ParallelFor, ThrowsTheLowestFailureAndBeginsNoMore) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> later_failed = false;
    std::atomic<int> begun = 0;
    try {
      parallel_for(10'000, 2, [&](std::size_t task, std::size_t) {
        ++begun;
        if (task == 11) {
          later_failed = true;
          throw std::runtime_error("11");
        }
        if (task == 10) {
          while (!later_failed) std::this_thread::yield();
          throw std::runtime_error("10");
        }
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "10");
    }
    EXPECT_LE(begun, 13);
  }
}

TEST(RunWorkers, TellsTheOthersAndThrowsWhatTheLowestThrew) {
  std::atomic<bool> stop = false;
  try {
    run_workers(
        3,
        [&](std::size_t worker) {
          if (worker == 2) throw std::runtime_error("two");
          while (!stop) std::this_thread::yield();
          if (worker == 1) throw std::runtime_error("one");
        },
        [&] { stop = true; });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "one");
  }
}

TEST(RunWorkers, TheOthersTakeNoSignals) {
  run_workers(2, [&](std::size_t worker) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), worker == 0 ? 0 : 1);
  });
}

}  // namespace
}  // namespace nadi
