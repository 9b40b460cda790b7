// A new file whose size is known before its bytes: several threads write its parts, in any order.
//
//   PositionedFile file(path, Bytes{header.size() + data.size()});
//   file.write_at(0, header);                          // by one thread
//   file.write_at(header.size(), data);                // by another
//   file.close();                                      // the caller syncs and publishes (atomic_folder.h)
//
// The room is reserved on the disk at once, so that a full disk is noticed before the work is done. Each part
// is sent to the disk when it is written: the disk is kept busy, and little is left for the final sync. At
// most kUnwritten of a file's bytes wait in memory; what has reached the disk leaves the page cache, since
// gigabytes that were just written are seldom read soon.
//
// Errors (environment) name the path: a full disk, a missing permission, a file that exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

class PositionedFile {
 public:
  static constexpr Bytes kUnwritten = 64_MiB;

  PositionedFile(std::filesystem::path path, Bytes size);
  ~PositionedFile();
  PositionedFile(const PositionedFile&) = delete;
  PositionedFile& operator=(const PositionedFile&) = delete;

  // Thread-safe. Parts lie within the file and do not overlap.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  void write_at(std::int64_t offset, std::string_view bytes);

  // Called once, when all parts are written; else the destructor does it.
  void close();

  const std::filesystem::path& path() const { return path_; }
  Bytes size() const { return size_; }

 private:
  struct Part {
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };
  void write_behind(Part part);

  std::filesystem::path path_;
  Bytes size_;
  int descriptor_ = -1;
  std::mutex mutex_;          // guards what follows
  std::deque<Part> started_;  // sent to the disk, oldest first
  std::int64_t unwritten_ = 0;
};

}  // namespace nadi::inline ground
