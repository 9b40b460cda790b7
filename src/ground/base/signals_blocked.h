// Keeps all signals from the calling thread while it lives, and so from the threads that this one starts meanwhile: a thread
// starts with the signals blocked that are blocked where it is started. Signals are not for threads that work.
//
//   const SignalsBlocked blocked;
//   thread_ = std::thread([this] { run(); });
#pragma once

#include <pthread.h>
#include <signal.h>

namespace nadi::inline ground {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace nadi::inline ground
