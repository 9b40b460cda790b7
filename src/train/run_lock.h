// Keeps a second run out of a folder in which one saves its checkpoints: they would overwrite and remove each
// other's.
//
//   const RunLock lock(folder);      // Error (environment) when another run has it
//
// The lock is the kernel's (flock) on <folder>/.training.lock, so that it ends with its process, however that
// ends. The file says who has it, for the message, and is removed with the lock. A file system that has no
// locks lets everybody in: held() says which.
#pragma once

#include <filesystem>

namespace nadi {

inline constexpr const char* kRunLockFile = ".training.lock";

class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  bool held() const { return descriptor_ >= 0; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace nadi
