#include "nadi/engine/host_threads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <thread>

namespace nadi::inline engines {
namespace {

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Those of the pool are there before the first kernel: a run that is short of them says so at its beginning.
TEST(HostThreads, ThePoolIsStartedAtOnce) {
#ifndef _OPENMP
  GTEST_SKIP() << "no OpenMP";
#endif
  const std::ptrdiff_t before = threads_of_this_process();
  std::ptrdiff_t during = 0;
  std::thread runs([&] {
    set_threads(5);
    during = threads_of_this_process();
    EXPECT_GE(during, before + 5);  // this one, and four of the pool
    int used = 0;
    parallel_for(5, 5, [&](std::int64_t, std::int64_t, int thread) { used += thread == 4 ? 1 : 0; });
    EXPECT_EQ(used, 1);
    EXPECT_EQ(threads_of_this_process(), during);
  });
  runs.join();
}

}  // namespace
}  // namespace nadi::inline engines
