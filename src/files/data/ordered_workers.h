// Threads that work on items side by side, and give them back in the order in which they came.
//
//   OrderedWorkers<Block> workers(4, [&](Block& block, int worker) { ... });
//   while (read(block)) {
//     if (workers.is_full()) write(*workers.next());
//     workers.submit(std::move(block));
//   }
//   while (auto block = workers.next()) write(*block);
//
// What an item throws comes out of next() in its turn, so which of several failures is reported does not
// depend on the number of threads. Items that were never asked for are dropped in the destructor, which waits
// for those being worked on. Used by one thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "nadi/base/resource_shortage.h"

namespace nadi::inline files {

template <typename Item>
class OrderedWorkers {
 public:
  // `worker` counts from 0: for what each thread has for itself.
  using Work = std::function<void(Item& item, int worker)>;

  OrderedWorkers(int threads, Work work)
      : work_(std::move(work)), capacity_(kItemsPerThread * static_cast<std::size_t>(threads)) {
    try {
      for (int i = 0; i < threads; ++i) start_thread(threads_, [this, i] { run(i); });
    } catch (...) {
      end();
      throw;
    }
  }

  ~OrderedWorkers() { end(); }

  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;

  // Whether there are enough items to keep every thread busy while the caller waits for the oldest one.
  bool is_full() const { return jobs_.size() >= capacity_; }

  void submit(std::unique_ptr<Item> item) {
    jobs_.push_back(std::make_unique<Job>(Job{.item = std::move(item)}));
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(jobs_.back().get());
    }
    work_came_.notify_one();
  }

  // The oldest item, once it is done; nullptr when there is none.
  std::unique_ptr<Item> next() {
    if (jobs_.empty()) return nullptr;
    std::unique_lock lock(mutex_);
    work_done_.wait(lock, [&] { return jobs_.front()->done; });
    lock.unlock();
    const std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job->failure) std::rethrow_exception(job->failure);
    return std::move(job->item);
  }

 private:
  static constexpr std::size_t kItemsPerThread = 3;

  void end() {
    {
      const std::lock_guard lock(mutex_);
      waiting_.clear();
      ended_ = true;
    }
    work_came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  struct Job {
    std::unique_ptr<Item> item;
    bool done = false;
    std::exception_ptr failure = {};
  };

  void run(int worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_came_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Job* const job = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::exception_ptr failure;
      try {
        work_(*job->item, worker);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      job->failure = failure;
      job->done = true;
      work_done_.notify_one();
    }
  }

  Work work_;
  std::size_t capacity_;
  std::deque<std::unique_ptr<Job>> jobs_;  // not yet given back, oldest first; the user's thread only

  std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable work_done_;
  std::deque<Job*> waiting_;  // nobody works on these yet; with `done` and `ended_` behind mutex_
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nadi::inline files
