#include "nadi/scheduler/scheduler.h"

#include "nadi/base/error.h"

namespace nadi::inline jobs {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "pending";
    case JobState::kRunning:
      return "running";
    case JobState::kSuspended:
      return "suspended";
    case JobState::kEnding:
      return "ending";
    case JobState::kDone:
      return "done";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
    case JobState::kTimedOut:
      return "timed out";
    case JobState::kOutOfMemory:
      return "out of memory";
    case JobState::kNodeFailed:
      return "node failed";
    case JobState::kPreempted:
      return "preempted";
    case JobState::kUnknown:
      return "unknown";
  }
  unreachable();
}

bool has_ended(JobState state) {
  switch (state) {
    case JobState::kPending:
    case JobState::kRunning:
    case JobState::kSuspended:
    case JobState::kEnding:
    case JobState::kUnknown:
      return false;
    case JobState::kDone:
    case JobState::kFailed:
    case JobState::kCancelled:
    case JobState::kTimedOut:
    case JobState::kOutOfMemory:
    case JobState::kNodeFailed:
    case JobState::kPreempted:
      return true;
  }
  unreachable();
}

}  // namespace nadi::inline jobs
