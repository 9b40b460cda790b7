// Writes a file so that a reader sees the old contents or the new ones, never half of either.
//
//   AtomicFile file(path, Overwrite::kRefuse);
//   file.write(header);
//   file.write(body);
//   file.commit();           // only now does `path` exist, or change
//
// Bytes go to a temporary in the same folder (".nadi.<pid>.<n>.tmp"), which commit() syncs to the disk and
// renames. Without commit(), after an exception for instance, the destructor removes the temporary. A
// program that is killed leaves its temporary behind and `path` as it was.
//
// Errors: an existing target under kRefuse is Error (usage); a full disk, a missing permission, a target
// that is a folder or a device are Error (environment). Both name the path. After an Error the object can
// only be destroyed. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi {

enum class Overwrite {
  kRefuse,  // an existing target is an error: at construction, and again, without a race, in commit()
  kAllow,   // an existing file is replaced in commit(), and its permissions are kept
};

class AtomicFile {
 public:
  // Creates missing parent folders and the temporary. A target that is a symbolic link is followed under
  // kAllow, so that the link stays a link.
  AtomicFile(std::filesystem::path target, Overwrite overwrite);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Appends. Small pieces are collected into blocks of 1 MiB.
  void write(std::string_view bytes);

  // Flushes, syncs the file, renames it to the target and syncs the folder. Called once, last.
  void commit();

  const std::filesystem::path& path() const { return target_; }
  Bytes size() const { return size_; }  // what was written so far

 private:
  void flush();
  void publish();
  void discard() noexcept;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty after commit()
  Overwrite overwrite_;
  int descriptor_ = -1;
  std::string buffer_;
  Bytes size_;
};

// The whole file in one call.
void write_atomically(const std::filesystem::path& path, std::string_view bytes, Overwrite overwrite);

}  // namespace nadi
