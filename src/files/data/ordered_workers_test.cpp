#include "nadi/data/ordered_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace nadi::inline files {
namespace {

using namespace std::chrono_literals;

TEST(OrderedWorkers, GiveItemsBackInOrder) {
  for (const int threads : {1, 2, 5}) {
    // Items that come early take longest.
    OrderedWorkers<int> workers(threads, [](int& item, int) {
      if (item < 10) std::this_thread::sleep_for(std::chrono::milliseconds(10 - item));
      item *= 2;
    });
    int expected = 0;
    const auto take = [&] { EXPECT_EQ(*workers.next(), 2 * expected++); };
    for (int i = 0; i < 200; ++i) {
      if (workers.is_full()) take();
      workers.submit(std::make_unique<int>(i));
    }
    while (expected < 200) take();
    EXPECT_EQ(workers.next(), nullptr);
  }
}

TEST(OrderedWorkers, NumberTheirThreads) {
  std::atomic<int> seen = 0;
  std::atomic<int> both = 0;
  {
    OrderedWorkers<int> workers(2, [&](int&, int worker) {
      seen |= 1 << worker;
      // Each thread waits for the other one.
      ++both;
      while (both < 2) std::this_thread::sleep_for(1ms);
    });
    workers.submit(std::make_unique<int>(0));
    workers.submit(std::make_unique<int>(1));
    while (workers.next() != nullptr) {
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST(OrderedWorkers, ReportTheFirstFailureInOrder) {
  for (const int threads : {1, 4}) {
    // The second failure happens first.
    OrderedWorkers<int> workers(threads, [](int& item, int) {
      if (item == 1) std::this_thread::sleep_for(20ms);
      if (item == 1 || item == 2) throw std::runtime_error(std::to_string(item));
    });
    for (int i = 0; i < 3; ++i) workers.submit(std::make_unique<int>(i));
    EXPECT_EQ(*workers.next(), 0);
    try {
      workers.next();
      FAIL() << "no failure";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "1");
    }
  }
}

TEST(OrderedWorkers, EndWithItemsLeft) {
  std::atomic<int> done = 0;
  {
    OrderedWorkers<int> workers(1, [&](int&, int) {
      std::this_thread::sleep_for(5ms);
      ++done;
    });
    for (int i = 0; i < 100; ++i) workers.submit(std::make_unique<int>(i));
  }
  EXPECT_LT(done, 50);
}

}  // namespace
}  // namespace nadi::inline files
