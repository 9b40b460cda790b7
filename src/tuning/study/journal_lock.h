// The lock of a journal file against other writers: theirs of Optuna, of either kind, and ours. For sources
// of this room.
//
//   const JournalFileLock lock(file, JournalLock::kSymbolicLink, 60s);      // waits
//   ... read what is new, append ...                                        // released with the object
//
// The lock is a name beside the file, `<file>.lock`: a symbolic link or an empty file, which only one process
// can create. A worker that is killed leaves it behind. Optuna breaks a lock when the journal has not changed
// for 30 seconds; so do we with a lock of Optuna's, and on disks of several machines. On a local disk our
// workers also hold a lock of the kernel on the journal, which dies with them: whoever has that one and finds
// a link of ours knows that its owner is dead, and does not wait.
#pragma once

#include <chrono>
#include <filesystem>

#include "nadi/study/study_storage.h"

namespace nadi::inline ground {
class Error;
}  // namespace nadi::inline ground

namespace nadi::inline tuning {

class JournalFileLock {
 public:
  // `descriptor` is of the journal, open for writing. Error (environment) after `timeout`.
  JournalFileLock(const std::filesystem::path& journal, int descriptor, JournalLock kind,
                  std::chrono::milliseconds timeout);
  ~JournalFileLock();
  JournalFileLock(const JournalFileLock&) = delete;
  JournalFileLock& operator=(const JournalFileLock&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void lock_in_kernel(Clock::time_point deadline);
  void unlock_in_kernel();
  bool create();
  bool is_left_by_us() const;
  void remove();
  Error timed_out() const;

  std::filesystem::path journal_;
  std::filesystem::path lock_;
  int descriptor_;
  JournalLock kind_;
  std::chrono::milliseconds timeout_;
  bool is_local_;
};

}  // namespace nadi::inline tuning
