#include "nadi/cuda/device_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "nadi/cuda/cuda_error.h"

namespace nadi::inline engines::cuda {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds, std::chrono::steady_clock;

// Most waits are short: a thread that sleeps comes back late.
constexpr microseconds kSpin{200}, kSleep{50};
constexpr milliseconds kLookEvery{20}, kLong{200};

WaitGuard* guard_of_process = nullptr;

template <class Query>
void wait_until(const Query& done) {
  const steady_clock::time_point begin = steady_clock::now();
  steady_clock::time_point looked = begin;
  bool said = false;
  while (!done()) {
    const steady_clock::time_point now = steady_clock::now();
    if (now - looked >= kLookEvery) {
      guard_of_process->look();
      looked = now;
    }
    if (!said && now - begin > kLong) {
      guard_of_process->waits_long();
      said = true;
    }
    if (now - begin > kSpin) std::this_thread::sleep_for(kSleep);
  }
  guard_of_process->waited();
}

bool finished(cudaError_t result, const char* call) {
  if (result == cudaErrorNotReady) {
    cudaGetLastError();  // not an error of whoever asks next
    return false;
  }
  check_cuda(result, call);
  return true;
}

}  // namespace

void guard_waits(WaitGuard* guard) {
  guard_of_process = guard;
}

void wait_for(cudaEvent_t event) {
  if (guard_of_process == nullptr) return check_cuda(cudaEventSynchronize(event), "cudaEventSynchronize");
  wait_until([event] { return finished(cudaEventQuery(event), "cudaEventQuery"); });
}

void wait_for(cudaStream_t stream) {
  if (guard_of_process == nullptr) return check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  wait_until([stream] { return finished(cudaStreamQuery(stream), "cudaStreamQuery"); });
}

GivesWork::GivesWork() {
  if (guard_of_process != nullptr) guard_of_process->waits_long();
}

GivesWork::~GivesWork() {
  if (guard_of_process != nullptr) guard_of_process->waited();
}

}  // namespace nadi::inline engines::cuda
