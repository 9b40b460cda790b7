// How much memory the contents of one file may take while it is read.
//
//   struct ReadOptions { MemoryLimit memory = {}; };
//   const MemoryAllowance allowed = options.memory.for_file(path.string(), size_of_the_file);
//   ...
//   allowed.expect(trace.memory(), byte, "the trace");    // as often as it may have grown
//
// Files lie: 64 KB of a deflated pickle, or 2 MB of a gzip, can hold gigabytes of small values. The limit is
// therefore a function of the bytes on disk, unless the caller chooses one. A file that is not compressed
// never meets the default: readers take less than kPerByte times the bytes that they read. The size of a pipe
// nobody knows: its limit grows with the bytes that have come out of it.
//
// Counted is what a reader keeps of its file, by its own arithmetic, so that the verdict does not depend on
// the machine or on other threads. Exceeding the limit is Error (environment): more memory would do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// The limit for one file.
class MemoryAllowance {
 public:
  MemoryAllowance(std::string file, std::uint64_t file_bytes, Bytes most)
      : file_(std::move(file)), file_bytes_(file_bytes), most_(most) {}
  // For a pipe with a limit that was chosen, and for one with a limit that grows with `read`, which must stay
  // where it is.
  MemoryAllowance(std::string file, Bytes most) : file_(std::move(file)), most_(most) {}
  MemoryAllowance(std::string file, const std::uint64_t* read)
      : file_(std::move(file)), most_(0), read_(read) {}

  Bytes most() const;

  // Error (environment) with file and byte when `held` is more than the limit. `what` is what takes the
  // memory: "the trace".
  void expect(Bytes held, std::optional<std::uint64_t> byte, std::string_view what) const {
    if (held > most()) [[unlikely]]
      refuse(held, byte, what);
  }

  // The longest record that can be decoded within the limit, of a format whose records take up to kPerByte
  // times their size while they are decoded. For a pipe whose limit grows: any.
  std::uint64_t longest_record() const;

 private:
  [[noreturn]] void refuse(Bytes held, std::optional<std::uint64_t> byte, std::string_view what) const;

  std::string file_;
  std::optional<std::uint64_t> file_bytes_;
  Bytes most_;
  const std::uint64_t* read_ = nullptr;
};

class MemoryLimit {
 public:
  // What a file may take without having many bytes, and what for each byte on top of that. Real traces take
  // up to 20 bytes for a byte of their gzip file, real pickles up to 10.
  static constexpr Bytes kAnyFile = 512_MiB;
  static constexpr std::int64_t kPerByte = 64;

  MemoryLimit() = default;                           // by the size of each file
  explicit MemoryLimit(Bytes most) : most_(most) {}  // the same for all
  explicit MemoryLimit(std::optional<Bytes> most) : most_(most) {}

  // `file_bytes`: as they lie on disk, compressed or not.
  MemoryAllowance for_file(std::string file, std::uint64_t file_bytes) const;
  // `read`: the bytes that have come out of the pipe, compressed or not, at any time.
  MemoryAllowance for_pipe(std::string name, const std::uint64_t* read) const;

 private:
  std::optional<Bytes> most_;
};

}  // namespace nadi::inline ground
