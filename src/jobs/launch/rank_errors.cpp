#include "nadi/launch/rank_errors.h"

#include <chrono>
#include <thread>

#include "nadi/comm/launcher_environment.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;

// Longer than mpirun, and our launcher (LaunchPatience::blame), take to end the other ranks.
constexpr milliseconds kPatience{1500};
constexpr milliseconds kLook{20};

}  // namespace

bool another_rank_prints_error(const std::function<bool()>& end_asked) {
  if (rank_started(process_environment()).value_or(0) == 0) return false;
  for (milliseconds waited{0}; waited < kPatience; waited += kLook) {
    if (end_asked()) return true;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

}  // namespace nadi::inline jobs
