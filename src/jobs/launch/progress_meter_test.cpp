#include "nadi/launch/progress_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "nadi/process/child_process.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;

void compute_for(milliseconds time) {
  volatile unsigned sink = 0;
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
    sink = sink + 1;
}

// A thread watches, as it does in a rank: what it reads in /proc itself does not count.
bool moved_while(const std::function<void()>& work) {
  std::atomic<bool> begun = false, done = false;
  bool moved = false;
  std::thread watch([&] {
    pthread_setname_np(pthread_self(), kWatchThread);
    ProgressMeter meter;
    begun = true;
    while (!done) poll(nullptr, 0, 5);
    moved = meter.moved();
  });
  while (!begun) poll(nullptr, 0, 1);
  work();
  done = true;
  watch.join();
  return moved;
}

TEST(ProgressMeter, SeesWhatComputesAndNotWhatSleeps) {
  EXPECT_TRUE(moved_while([] { compute_for(milliseconds(50)); }));
  EXPECT_FALSE(moved_while([] { poll(nullptr, 0, 300); }));
}

TEST(ProgressMeter, ThreadsThatOnlyLookDoNotCount) {
  for (const char* name : {kMpiThread, "NCCL Progress 0"}) {
    std::atomic<bool> named = false, leave = false;
    std::thread looking([&] {
      pthread_setname_np(pthread_self(), name);
      named = true;
      while (!leave) compute_for(milliseconds(1));
    });
    while (!named) std::this_thread::yield();
    EXPECT_FALSE(moved_while([] { poll(nullptr, 0, 300); })) << name;
    leave = true;
    looking.join();
  }
}

TEST(ProgressMeter, NamesACallThatDoesNotReturn) {
  const ProgressMeter meter;
  std::string said;
  // The first thread is this one: it reads from a pipe until the other has looked.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread looking([&] {
    for (int i = 0; i < 1000 && !said.starts_with("reads"); ++i) {
      poll(nullptr, 0, 5);
      said = meter.blocked_in();
    }
    ASSERT_EQ(write(ends[1], "x", 1), 1);
  });
  char letter = 0;
  EXPECT_EQ(read(ends[0], &letter, 1), 1);
  looking.join();
  close(ends[0]);
  close(ends[1]);
  EXPECT_THAT(said, testing::AnyOf(testing::StartsWith("reads pipe:"), ""));
}

TEST(ProgressMeter, KnowsTheStateOfAnotherProcess) {
  ChildProcess child({.words = {"/bin/sleep", "100"}});
  kill(child.pid(), SIGSTOP);
  for (int i = 0; i < 2000 && process_state(child.pid()) != 'T'; ++i) poll(nullptr, 0, 5);
  EXPECT_EQ(process_state(child.pid()), 'T');
  EXPECT_EQ(process_state(1 << 30), '\0');
}

}  // namespace
}  // namespace nadi::inline jobs
