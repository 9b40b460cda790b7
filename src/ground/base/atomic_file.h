// Writes a file so that a reader sees the old contents or the new ones, never half of either.
//
//   AtomicFile file(path, Overwrite::kRefuse);
//   file.write(header);
//   file.write(body);
//   file.commit();           // only now does `path` exist, or change
//
// Bytes go to a temporary in the same folder (".nadi.<n>.<pid>@<host>.tmp"), which commit() syncs to the disk
// and renames; large files go past the page cache (file_output.h). Without commit(), after an exception for
// instance, the destructor removes the temporary. A program that is killed leaves its temporary behind (see
// remove_leftovers() in atomic_folder.h) and `path` as it was.
//
// Several files that appear together: atomic_file_set.h. A folder that appears as a whole: atomic_folder.h.
//
// Errors: an existing target under kRefuse is Error (usage); a full disk, a missing permission, a target
// that is a folder or a device are Error (environment). Both name the path. After an Error the object can
// only be destroyed. Not thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "nadi/base/file_output.h"
#include "nadi/base/units.h"

namespace nadi::inline ground {

class Error;

enum class Overwrite {
  kRefuse,  // an existing target is an error: at construction, and again, without a race, in commit()
  kAllow,   // an existing file is replaced in commit(), and its permissions are kept
};

enum class Durability {
  kNow,    // on the disk when the call returns
  kLater,  // on its way there; sync_file_system() waits for it
};

class AtomicFile {
 public:
  // Creates missing parent folders and the temporary. A target that is a symbolic link is followed under
  // kAllow, so that the link stays a link. `number` is where the search for a free name for the temporary
  // starts: different ones for files that are written side by side save the search.
  AtomicFile(std::filesystem::path target, Overwrite overwrite, std::size_t number = 0);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Appends. Small pieces are collected into blocks.
  void write(std::string_view bytes);

  // Ends writing: for files that appear together.
  void close(Durability durability);

  // Flushes, syncs the file, renames it to the target and syncs the folder; after close() only renames.
  // Called once, last.
  void commit();

  const std::filesystem::path& path() const { return target_; }
  Bytes size() const { return size_; }  // what was written so far

 private:
  void publish();
  void discard() noexcept;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty after commit()
  Overwrite overwrite_;
  int descriptor_ = -1;
  std::optional<FileOutput> output_;  // until close()
  Bytes size_;
};

// Throws Error (usage) when there is something at `path`: for asking before any work is done.
void refuse_existing(const std::filesystem::path& path);

// Whether the error is that of an existing target: a program may add how the user allows to overwrite it.
bool is_existing_target(const Error& error);

// Waits until everything that any program wrote to the file system of `folder` is on the disk; or only the
// names in the folder.
void sync_file_system(const std::filesystem::path& folder);
void sync_folder(const std::filesystem::path& folder);

// The whole file in one call.
void write_atomically(const std::filesystem::path& path, std::string_view bytes, Overwrite overwrite);

}  // namespace nadi::inline ground
