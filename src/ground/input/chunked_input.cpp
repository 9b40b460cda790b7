#include "nadi/input/chunked_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/input/decompressor.h"

namespace nadi::inline ground {

namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

struct Compression {
  FileKind kind;
  std::string_view name;
  std::string_view package;  // Debian's, that a build needs for it
  std::unique_ptr<Decompressor> (*make)(CompressedBytes);
};

#if NADI_WITH_ZLIB
constexpr auto kMakeGzip = &make_gzip_decompressor;
#else
constexpr std::unique_ptr<Decompressor> (*kMakeGzip)(CompressedBytes) = nullptr;
#endif
#if NADI_WITH_ZSTD
constexpr auto kMakeZstd = &make_zstd_decompressor;
#else
constexpr std::unique_ptr<Decompressor> (*kMakeZstd)(CompressedBytes) = nullptr;
#endif

constexpr std::array kCompressions{
    Compression{FileKind::kGzip, "gzip", "zlib1g-dev", kMakeGzip},
    Compression{FileKind::kZstd, "zstd", "libzstd-dev", kMakeZstd},
};
constexpr std::size_t kLongestMagic = 4;  // of these

}  // namespace

ChunkedInput::ChunkedInput(const std::filesystem::path& path) : name_(path.string()) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw read_error(name_, errno);
  struct stat status {};
  if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode))
    size_ = static_cast<std::uint64_t>(status.st_size);
  try {
    if (S_ISDIR(status.st_mode)) throw WrongFileKind(name_, FileKind::kFolder, "a file");
    unpack_if_compressed();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

ChunkedInput::ChunkedInput(std::string_view bytes, std::string name)
    : name_(std::move(name)), size_(bytes.size()), at_end_(true), window_(bytes) {
  unpack_if_compressed();
}

ChunkedInput::~ChunkedInput() {
  if (file_ >= 0) ::close(file_);
}

void ChunkedInput::unpack_if_compressed() {
  const std::string_view first = ahead(kLongestMagic);
  const FileKind kind = kind_of_bytes(first.substr(0, kLongestMagic));
  for (const Compression& compression : kCompressions) {
    if (kind != compression.kind) continue;
    if (compression.make == nullptr)
      throw environment_error(format("{}: this build cannot read {} files", name_, compression.name),
                              format("install {} and build again, or unpack the file", compression.package));
    CompressedBytes::Read read;
    if (file_ >= 0) read = [this](char* to, std::size_t room) { return read_file(to, room); };
    decompressor_ = compression.make(CompressedBytes(first, std::move(read), name_));
    window_ = {};
    at_end_ = false;
    return;
  }
}

std::optional<std::uint64_t> ChunkedInput::remaining() const {
  if (at_end_) return window_.size();
  if (!size_ || decompressor_) return std::nullopt;
  // A file that grew since it was opened has at least what we already hold.
  return std::max<std::uint64_t>(*size_ - std::min(*size_, position_), window_.size());
}

std::size_t ChunkedInput::read_file(char* to, std::size_t room) {
  while (true) {
    const ssize_t got = ::read(file_, to, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw input_error({.file = name_, .byte = static_cast<std::int64_t>(file_position_)},
                        format("cannot read: {}", std::strerror(errno)));
    file_position_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
}

std::size_t ChunkedInput::read_next(char* to, std::size_t room) {
  const std::size_t got = decompressor_ ? decompressor_->read(to, room) : read_file(to, room);
  if (got == 0) at_end_ = true;
  return got;
}

std::size_t ChunkedInput::read(char* to, std::size_t room) {
  if (window_.empty() && !at_end_) {
    const std::size_t got = read_next(to, room);
    position_ += got;
    return got;
  }
  const std::size_t count = std::min(room, window_.size());
  if (count > 0) std::memcpy(to, window_.data(), count);
  consume(count);
  return count;
}

void ChunkedInput::fill(std::size_t wanted) {
  while (window_.size() < wanted && !at_end_) {
    const std::size_t held = window_.size();
    if (capacity_ < wanted && capacity_ < 2 * held + kChunk) {
      // Grow with what has arrived, not with what was announced.
      const std::size_t larger = std::max(kChunk, std::min(wanted, 2 * held + kChunk));
      std::unique_ptr<char[]> next(new char[larger]);
      if (held > 0) std::memcpy(next.get(), window_.data(), held);
      buffer_ = std::move(next);
      capacity_ = larger;
    } else if (held > 0) {
      std::memmove(buffer_.get(), window_.data(), held);
    }
    // The window is in the buffer from here on, also where reading fails.
    window_ = {buffer_.get(), held};
    const std::size_t got = read_next(buffer_.get() + held, capacity_ - held);
    window_ = {buffer_.get(), held + got};
  }
}

}  // namespace nadi::inline ground
