// A file or a block of memory, seen through a window that moves forward only. gzip and zstd, found by their
// first bytes, are unpacked on the way.
//
//   ChunkedInput input(path);
//   while (!input.ahead(1).empty()) {
//     std::string_view bytes = input.ahead(wanted);   // at least `wanted` bytes, fewer only at the end
//     ...
//     input.consume(used);
//   }
//
// A file is read in chunks rather than mapped: a mapped file that another process cuts short kills the
// program with SIGBUS instead of giving an error, a pipe cannot be mapped at all, and reading 256 KiB at a
// time is as fast. Memory is the largest `wanted`, and never more than twice what the file really
// delivered, however much a compressed file unpacks to.
//
// A compressed file that is damaged or cut short is Error (input) with the byte of the file as it lies on
// disk, after what could be unpacked before that; one that this build cannot unpack is Error
// (environment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/memory_limit.h"

namespace nadi::inline ground {

class Decompressor;

class ChunkedInput {
 public:
  // Opens a file or a pipe; Error (input) when that fails.
  explicit ChunkedInput(const std::filesystem::path& path);
  // Looks at memory, which must outlive the input. `name` stands for a file name in messages.
  ChunkedInput(std::string_view bytes, std::string name);
  ~ChunkedInput();
  ChunkedInput(const ChunkedInput&) = delete;
  ChunkedInput& operator=(const ChunkedInput&) = delete;

  const std::string& name() const { return name_; }
  // Byte of the input at which the window starts. Of a compressed file, this counts unpacked bytes.
  std::uint64_t position() const { return position_; }
  // Bytes from position() to the end, where that is known beforehand: not for pipes and compressed files.
  std::optional<std::uint64_t> remaining() const;

  // The memory that its contents may take, by its bytes as they lie on disk or have come out of the pipe,
  // compressed or not. The input must outlive it.
  MemoryAllowance allowance(const MemoryLimit& limit) const {
    return size_ ? limit.for_file(name_, *size_) : limit.for_pipe(name_, &file_position_);
  }

  // What lies ahead of position(): at least `wanted` bytes, unless the input ends before that. Valid until
  // the next call of ahead() or read().
  std::string_view ahead(std::size_t wanted) {
    if (window_.size() < wanted && !at_end_) fill(wanted);
    return window_;
  }
  // Moves on. `count` may not be more than ahead() has shown.
  void consume(std::size_t count) {
    window_.remove_prefix(count);
    position_ += count;
  }
  // Instead of these two: moves up to `room` bytes to memory of the caller, straight from the file where the
  // window is empty. 0 only at the end.
  std::size_t read(char* to, std::size_t room);

 private:
  void fill(std::size_t wanted);
  void unpack_if_compressed();
  std::size_t read_next(char* to, std::size_t room);  // what follows the window
  std::size_t read_file(char* to, std::size_t room);

  std::string name_;
  int file_ = -1;                      // descriptor; -1 for memory
  std::optional<std::uint64_t> size_;  // of the whole file or memory, as it lies there
  std::uint64_t file_position_ = 0;    // of what comes next from the descriptor
  std::unique_ptr<Decompressor> decompressor_;
  bool at_end_ = false;  // nothing follows the window
  std::uint64_t position_ = 0;
  std::string_view window_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
};

}  // namespace nadi::inline ground
