// The file of a run of Weights & Biases (run-<id>.wandb): records, one after the other, in the log format of
// LevelDB.
//
//   WandbLog log("wandb/offline-run-20260203_040506-ab12cd34/run-ab12cd34.wandb");
//   log.append(record);
//
// Format: seven bytes (":W&B", 0xbee1 in 16 bits, version 0), then chunks in blocks of 32 KiB, the seven
// bytes being part of the first. A chunk is a CRC-32 of its type and content, a length (16 bits) and a type
// (8 bits: 1 a whole record, 2 its beginning, 3 its middle, 4 its end), all little-endian, and the content.
// No chunk crosses the end of a block; fewer than seven bytes that are left there are zero. The CRC is that
// of zlib, where LevelDB has CRC-32C.
//
// The file is only ever appended to, a record with one call of the operating system: a run that is killed
// leaves whole records but for the last, and a reader may watch it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace nadi::inline runs {

class WandbLog {
 public:
  // The folder exists. Error (environment) that names the file where it cannot be made; it must not exist.
  explicit WandbLog(std::filesystem::path path);
  WandbLog(const WandbLog&) = delete;
  WandbLog& operator=(const WandbLog&) = delete;
  ~WandbLog();

  void append(std::string_view record);  // Error (environment) when the disk is full
  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view bytes);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace nadi::inline runs
