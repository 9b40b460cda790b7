// Where the host waits for the GPU. While a guard is set, what the GPU stands in may never be done, as a message
// from a rank that is gone: every wait then looks again and again, and ends with the guard's Error.
//
//   guard_waits(&communicator);      // nullptr: nobody looks
//   wait_for(event);
//
// One guard per process, set and used by the thread that runs the program.
#pragma once

#include <cuda_runtime_api.h>

namespace nadi::inline engines::cuda {

class WaitGuard {
 public:
  virtual ~WaitGuard() = default;
  // Called often while the host waits. Error where the GPU will never be done.
  virtual void look() = 0;
  // The wait takes long, or may take for ever; and it is over, which is called after each wait.
  virtual void waits_long() = 0;
  virtual void waited() = 0;
};
void guard_waits(WaitGuard* guard);

void wait_for(cudaEvent_t event);
void wait_for(cudaStream_t stream);

// While it lives the host gives its GPU a graph. The driver takes it when it has room, and stands in the call until
// then: for ever where what was given before waits for a rank that is gone. Nobody can look from within that call, but
// whoever watches the rank knows that it waits.
class GivesWork {
 public:
  GivesWork();
  ~GivesWork();
  GivesWork(const GivesWork&) = delete;
  GivesWork& operator=(const GivesWork&) = delete;
};

}  // namespace nadi::inline engines::cuda
