// Asks a scheduler for the state of a job now and then, on a thread of its own: Slurm may take seconds to
// answer, and a screen that stands still looks broken.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline ask {

class StatusPoller {
 public:
  // nullptr means nobody is asked, and answer() has nothing.
  StatusPoller(std::unique_ptr<Scheduler> scheduler, std::string id, std::chrono::milliseconds every);
  ~StatusPoller();  // does not wait for an answer that is under way
  StatusPoller(const StatusPoller&) = delete;
  StatusPoller& operator=(const StatusPoller&) = delete;

  struct Answer {
    std::optional<JobStatus> status = {};
    std::string problem = {};  // why there is none, or what it lacks
  };
  // The newest. The first call waits for the first answer, at most `patience`.
  Answer answer(std::chrono::milliseconds patience);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
};

}  // namespace nadi::inline ask
