// Appends bytes to a new file. Of a file that becomes large, the page cache keeps almost nothing: gigabytes
// that were just written are seldom read soon, and their pages would evict those of other programs.
//
//   FileOutput output(descriptor);
//   output.write(header);
//   output.write(body);
//   output.finish();          // all is with the kernel; the caller syncs and closes
//
// A file of up to kLargeFile is written as usual, and stays in the cache. The rest bypasses the
// cache, in a thread of its own (large_file_output.h).
//
// Functions return 0, or the errno of what failed; after that the object can only be destroyed. Not
// thread-safe. The descriptor stays the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

class LargeFileOutput;

inline constexpr Bytes kLargeFile = 64_MiB;

class FileOutput {
 public:
  // Takes a file that is open for writing, and empty.
  explicit FileOutput(int descriptor);
  FileOutput(FileOutput&& other) noexcept;
  FileOutput& operator=(FileOutput&&) = delete;
  ~FileOutput();

  // Small pieces are collected into blocks of 1 MiB.
  [[nodiscard]] int write(std::string_view bytes);
  [[nodiscard]] int finish();

 private:
  int collect(std::string_view bytes);
  int flush();
  int put(std::string_view bytes);
  int become_large(std::string_view& bytes);

  int descriptor_;
  std::string buffer_;
  std::int64_t position_ = 0;  // in the file: behind what was written here
  std::unique_ptr<LargeFileOutput> large_;
};

}  // namespace nadi::inline ground
