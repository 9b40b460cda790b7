// Publishes several files together: all contents reach the disk before the first name appears.
//
//   AtomicFileSet files(Overwrite::kRefuse, Durability::kLater);
//   for (...) {
//     AtomicFile& file = files.add(path);
//     file.write(body);
//     files.close(file);
//   }
//   files.write("out/run.groups.json", groups);   // add, write and close in one call
//   files.publish();                              // only now do the files exist, or change
//
// Without publish(), after an exception for instance, nothing appears and the temporaries are removed. A
// machine that stops during publish() leaves each file complete or as it was before, but some files may be
// new and others old: a reader that needs more than that uses a folder (atomic_folder.h), which appears as a
// whole.
//
// Errors are those of AtomicFile. Two threads may call add() and close() at once, for different files.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>

#include "nadi/base/atomic_file.h"

namespace nadi::inline ground {

class AtomicFileSet {
 public:
  // kNow syncs each file when it is closed: milliseconds for each, and right for few files. kLater syncs the
  // whole file system once, in publish(): right for many files.
  AtomicFileSet(Overwrite overwrite, Durability durability)
      : overwrite_(overwrite), durability_(durability) {}

  // The reference stays valid as long as the set.
  AtomicFile& add(std::filesystem::path target);
  // Ends writing. Every file of the set is closed before publish().
  void close(AtomicFile& file) { file.close(durability_); }
  void write(std::filesystem::path target, std::string_view contents);

  // Called once, last. `ready` is called when all contents are on the disk; it may throw to stop.
  void publish(const std::function<void()>& ready = {});

 private:
  Overwrite overwrite_;
  Durability durability_;
  std::mutex adding_;
  std::deque<AtomicFile> files_;
};

// The same for files that somebody else owns, closed with Durability::kNow. They get their names in this
// order: a file that tells readers that the others are there comes last.
void publish_together(std::span<AtomicFile* const> files);

}  // namespace nadi::inline ground
