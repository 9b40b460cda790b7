// Keeps a second run out of the folder in which a run saves its checkpoints: the two runs would overwrite and
// remove each other's checkpoints.
//
//   const RunLock lock(folder);      // Error (environment) when another run has it
//
// The lock is a flock on <folder>/.training.lock: it ends with its process. The file names the holder, for
// the message, and is removed with the lock. On a file system without locks nothing is locked: see held().
//
// The folder may be a symbolic link. The file may not: whatever has its name and was not written by a run (a
// link, symbolic or hard, something that is no file, a file with other contents) is left as it is, and is
// Error (environment).
#pragma once

#include <filesystem>

namespace nadi::inline runs {

inline constexpr const char* kRunLockFile = ".training.lock";

class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  bool held() const { return descriptor_ >= 0; }

 private:
  void take(const std::filesystem::path& folder, const std::filesystem::path& file);

  int folder_ = -1;  // open: the file is looked for in it, wherever its path leads meanwhile
  int descriptor_ = -1;
};

}  // namespace nadi::inline runs
