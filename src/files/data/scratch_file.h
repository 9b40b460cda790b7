// Bytes that are written now, read back once, and gone in the end: for what would grow with the input if it
// stayed in memory.
//
//   ScratchFile scratch("data");
//   scratch.append(bytes);
//   scratch.for_each_block([&](std::string_view block) { ... });
//
// The file has no name, so a program that is killed leaves nothing. It is in a folder of the caller's choice,
// since the one for temporary files is memory on many machines. Errors: Error (environment) with the folder.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace nadi::inline files {

class ScratchFile {
 public:
  // Bytes of every block but the last.
  static constexpr std::size_t kBlock = std::size_t{64} << 10;

  explicit ScratchFile(std::filesystem::path folder);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  void append(std::string_view bytes);
  std::int64_t size() const { return size_; }

  // All bytes from the first, block by block; may be called again.
  void for_each_block(const std::function<void(std::string_view block)>& visit);

 private:
  void flush();

  std::filesystem::path folder_;
  int file_ = -1;
  std::string buffer_;
  std::int64_t size_ = 0;
};

}  // namespace nadi::inline files
