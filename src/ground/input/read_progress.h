// How many bytes of a list of files were read, for lines of progress: within a file, too, so that one large file shows some.
//
//   ReadProgress progress(files, report);
//   for (...) { progress.begin(file); read(file, {.progress = progress.within_file()}); progress.tick(); }
//
// A compressed file unpacks to more than its size: then it counts as read early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// Called now and then; may throw to stop.
using ReportBytes = std::function<void(Bytes done, Bytes total)>;

class ReadProgress {
 public:
  // An empty `report` is never called.
  ReadProgress(std::span<const std::filesystem::path> files, ReportBytes report);

  // The next file is read: the one before is.
  void begin(const std::filesystem::path& file);
  // For readers, which say how many bytes of the file they have read.
  std::function<void(std::uint64_t)> within_file();
  // The file is read, and something is done with it.
  void tick();

 private:
  void report(Bytes of_file) const;

  ReportBytes report_;
  Bytes total_;
  Bytes done_;     // of files that were read
  Bytes current_;  // size of the file that is being read
};

}  // namespace nadi::inline ground
