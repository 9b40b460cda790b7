// The file of a journal: lines are appended, and read once each. For sources of this room.
//
//   JournalFile file(path, StorageMode::kWrite);
//   file.read_new([&](std::string_view line, std::int64_t number) { ... });
//   const JournalFileLock lock(...);
//   file.read_new(...);                    // all that is there, now that nobody else writes
//   file.append(lines, Durability);
//
// A line counts when its newline is there. What stands behind the last newline is the start of a line that is
// being written, or the rest of one whose writer was killed. Whoever has the lock knows that it is the
// latter, and append() cuts it off: otherwise the next line would continue it, and neither we nor Optuna
// could read the journal any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "nadi/study/study_storage.h"

namespace nadi::inline ground {
class Error;
}  // namespace nadi::inline ground

namespace nadi::inline tuning {

class JournalFile {
 public:
  JournalFile(std::filesystem::path path, StorageMode mode);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  // Whether it was opened for writing.
  bool is_writable() const { return mode_ != StorageMode::kRead; }

  // Without the newline; numbers count from 1. A line for which `take` throws is read again next time.
  using TakeLine = std::function<void(std::string_view line, std::int64_t number)>;
  void read_new(const TakeLine& take);

  // Whole lines, written as one. Only with the lock, and after read_new() under it. `wait_for_disk` is for
  // results. Error (environment) on a full disk: the file is as it was.
  void append(std::string_view lines, bool wait_for_disk);

  // Bytes that were cut off so far: the rest of lines whose writers were killed.
  std::int64_t bytes_cut() const { return bytes_cut_; }

 private:
  Error failed(std::string_view what, int error_number) const;
  std::int64_t size() const;

  std::filesystem::path path_;
  StorageMode mode_;
  int descriptor_ = -1;
  std::int64_t offset_ = 0;  // behind the last line that was taken
  std::int64_t lines_ = 0;
  std::int64_t bytes_cut_ = 0;
  std::chrono::steady_clock::time_point last_sync_{};
};

}  // namespace nadi::inline tuning
