// The one thread that receives SIGINT, SIGTERM, SIGHUP and SIGUSR1.
//
// No signal handler may run on a thread that computes: oneDNN's matrix products use the stack pointer as an
// ordinary register, so that the frame of a handler overwrites other memory. Hence there are no handlers.
// All threads block the signals, from before the first thread is created (a thread inherits what its creator
// blocks; libraries create threads when they are loaded), and one thread reads the signals as bytes.
//
//   block_interrupts();                     // before any other thread: main.cpp does it before libraries
//   load Interruption interruption; const SignalThread signals(interruption, {.terminal_err = true});
//
// The first signal sets the Interruption. A command that does not ask for it within kUnheard, and does not
// hold it, is ended with exit code 130; so is one whose hold has a limit that is over. A second signal ends
// the process at once; one that comes within kSameWish of the first is the same wish (`timeout` signals a
// process and then its group).
//
// SIGUSR1 is how batch systems announce the end of the time: the exit code is 75 (interruption.h). It does
// not count as the first signal, nor ever as the second: a SIGTERM that follows leaves the time to save.
//
// A signal that was ignored when the program started (SIGINT of a shell's background job, SIGHUP under nohup)
// stays ignored. Child processes begin with no signal blocked: see job/child_process.h.
#pragma once

#include <chrono>
#include <thread>

namespace nadi::inline show {

class Interruption;

// Only system calls: it may run before the C++ runtime is ready.
void block_interrupts();

struct SignalThreadOptions {
  bool terminal_err = false;  // somebody watches: say what an interrupted command is waiting for
};

class SignalThread {
 public:
  static constexpr std::chrono::milliseconds kUnheard{2000};
  static constexpr std::chrono::milliseconds kSameWish{300};

  // The interruption must outlive this. Error (environment) when the system has no descriptor or no
  // thread left.
  SignalThread(Interruption& interruption, const SignalThreadOptions& options);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void run();

  Interruption& interruption_;
  SignalThreadOptions options_;
  int signals_ = -1;  // signalfd
  int leave_ = -1;    // eventfd: the destructor wants the thread to end
  std::thread thread_;
};

}  // namespace nadi::inline show
