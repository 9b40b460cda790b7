#include "nadi/supervision/status_poller.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "nadi/base/error.h"

namespace nadi::inline ask {

struct StatusPoller::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool leave = false;
  bool answered = false;
  Answer answer;
};

StatusPoller::StatusPoller(std::unique_ptr<Scheduler> scheduler, std::string id,
                           std::chrono::milliseconds every) {
  if (scheduler == nullptr) return;
  shared_ = std::make_shared<Shared>();
  std::thread([shared = shared_, scheduler = std::move(scheduler), id = std::move(id), every] {
    for (;;) {
      Answer answer;
      try {
        answer.status = scheduler->status(id);
        for (const std::string& note : scheduler->notes())
          answer.problem += (answer.problem.empty() ? "" : "; ") + note;
      } catch (const Error& error) {
        answer.problem = error.what();
      }
      std::unique_lock lock(shared->mutex);
      shared->answer = std::move(answer);
      shared->answered = true;
      shared->changed.notify_all();
      if (shared->changed.wait_for(lock, every, [&] { return shared->leave; })) return;
    }
  }).detach();
}

StatusPoller::~StatusPoller() {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->leave = true;
  shared_->changed.notify_all();
}

StatusPoller::Answer StatusPoller::answer(std::chrono::milliseconds patience) {
  if (shared_ == nullptr) return {};
  std::unique_lock lock(shared_->mutex);
  if (!shared_->changed.wait_for(lock, patience, [&] { return shared_->answered; }))
    return {.problem = "the scheduler has not answered yet"};
  return shared_->answer;
}

}  // namespace nadi::inline ask
