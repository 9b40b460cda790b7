// Whether somebody wants the program to end: the user with Ctrl-C, or a batch system with SIGTERM.
//
//   if (interruption.asked()) ...               // from any thread, as often as one likes
//   const Interruption::Hold hold(&interruption, "finishing the step");
//
// Whoever gets `true` ends the command in its own way. A command that does not ask for a while is ended from
// outside (signal_thread.h): then no wish of the user is lost, whatever the command is doing. A command that
// has something to save before it ends holds that off with a Hold, and still has to ask.
#pragma once

#include <atomic>

namespace nadi {

class Interruption {
 public:
  bool asked() const {
    if (!asked_.load(std::memory_order_acquire)) return false;
    heard_.store(true, std::memory_order_release);
    return true;
  }

  // While it lives, the command is not ended from outside. `doing` is told to a user who waits at a terminal;
  // a literal.
  class Hold {
   public:
    // Nothing happens for nullptr.
    Hold(Interruption* interruption, const char* doing) : interruption_(interruption) {
      if (interruption_ != nullptr) interruption_->doing_.store(doing);
    }
    ~Hold() {
      if (interruption_ != nullptr) interruption_->doing_.store(nullptr);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Interruption* interruption_;
  };

  // For who listens to the signals.
  void ask() { asked_.store(true, std::memory_order_release); }
  bool heard() const { return heard_.load(std::memory_order_acquire); }
  const char* held_for() const { return doing_.load(); }  // nullptr: nothing holds it

 private:
  std::atomic<bool> asked_ = false;
  mutable std::atomic<bool> heard_ = false;
  std::atomic<const char*> doing_ = nullptr;
};

}  // namespace nadi
