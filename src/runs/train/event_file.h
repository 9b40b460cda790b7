// Curves for TensorBoard: an event file that holds scalars by step.
//
//   EventFile events({.folder = "runs/7", .now = wall_clock});
//   events.scalar("train/loss", step, loss);
//
// The file is <folder>/events.out.tfevents.<seconds since 1970>.<host>, with ".1", ".2" ... behind it where
// that exists: a resumed run adds a file, and TensorBoard puts them together. It is only ever appended to,
// each scalar with one call of the operating system, so that a TensorBoard that watches the folder sees it at
// once, and a run that is killed leaves whole records but for the last.
//
// Format: records of a length (64 bits), the masked CRC-32C of those 8 bytes, the content, and its masked
// CRC-32C (32 bits each), all little-endian. The content is a protobuf message `Event`: the first says
// "brain.Event:2", all others hold one scalar.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline runs {

struct EventFileOptions {
  std::filesystem::path folder;
  std::function<Nanoseconds()> now;  // time since 1970
  std::string host = {};             // empty means this machine's name
};

class EventFile {
 public:
  // Creates missing folders, and the file with its first record. Throws Error (environment) that names the
  // file where that cannot be done.
  explicit EventFile(const EventFileOptions& options);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  // Tags that share what is in front of a '/' are shown together. Throws Error (environment) when the disk is
  // full.
  void scalar(std::string_view tag, std::int64_t step, double value);

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(std::string_view event);

  std::filesystem::path path_;
  std::function<Nanoseconds()> now_;
  int descriptor_ = -1;
};

// CRC-32C (Castagnoli) as RFC 3720 defines it.
std::uint32_t crc32c(std::string_view bytes);

// As records of event files hold it: rotated and shifted, since a checksum of data that holds its own
// checksum says little.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace nadi::inline runs
