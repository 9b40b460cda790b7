// Whether somebody wants the program to end: the user with Ctrl-C, or a batch system with SIGTERM. With
// SIGUSR1 a batch system says that the time is nearly over: the program ends in the same way, and its exit
// code says that it wants to be started again (a user who presses Ctrl-C does not).
//
//   if (interruption.asked()) ...               // from any thread, as often as one likes
//   const Interruption::Hold hold(&interruption, "finishing the step");
//
// Whoever gets `true` ends the command in its own way. A command that does not ask for a while is ended from
// outside (signal_thread.h): then no wish of the user is lost, whatever the command is doing. A command that
// has something to save before it ends holds that off with a Hold, and still has to ask.
#pragma once

#include <atomic>
#include <chrono>

#include "nadi/base/error.h"

namespace nadi::inline show {

enum class EndWish : int { kNone, kRestart, kEnd };

// EX_TEMPFAIL of sysexits.h: try again later.
inline constexpr int kRestartExitCode = 75;

class Interruption {
 public:
  static constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();

  bool asked() const {
    if (wish() == EndWish::kNone) return false;
    heard_.store(true, std::memory_order_release);
    return true;
  }

  // While it lives, the command is not ended from outside. `doing` is told to a user who waits at a terminal;
  // a literal. With `at_most`, the command is ended so long after the signal, whether it asked or not: for
  // what is worth a moment, and not worth waiting for.
  class Hold {
   public:
    // Nothing happens for nullptr.
    Hold(Interruption* interruption, const char* doing, std::chrono::milliseconds at_most = kForEver)
        : interruption_(interruption) {
      if (interruption_ == nullptr) return;
      interruption_->patience_.store(at_most);
      interruption_->doing_.store(doing);
    }
    ~Hold() {
      if (interruption_ == nullptr) return;
      interruption_->doing_.store(nullptr);
      interruption_->patience_.store(kForEver);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Interruption* interruption_;
  };

  // Code of a command that ended because of it.
  int exit_code() const { return wish() == EndWish::kRestart ? kRestartExitCode : kInterruptedExitCode; }

  EndWish wish() const { return wish_.load(std::memory_order_acquire); }

  // For who listens to the signals. The first wish stays.
  void ask(EndWish wish = EndWish::kEnd) {
    EndWish none = EndWish::kNone;
    wish_.compare_exchange_strong(none, wish, std::memory_order_acq_rel);
  }
  bool heard() const { return heard_.load(std::memory_order_acquire); }
  const char* held_for() const { return doing_.load(); }  // nullptr means nothing holds it
  std::chrono::milliseconds patience() const { return patience_.load(); }

 private:
  std::atomic<EndWish> wish_ = EndWish::kNone;
  mutable std::atomic<bool> heard_ = false;
  std::atomic<const char*> doing_ = nullptr;
  std::atomic<std::chrono::milliseconds> patience_ = kForEver;
};

}  // namespace nadi::inline show
