#include "nadi/input/chunked_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {

namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

}  // namespace

ChunkedInput::ChunkedInput(const std::filesystem::path& path) : name_(path.string()) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw input_error({.file = name_}, format("cannot open: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode))
    size_ = static_cast<std::uint64_t>(status.st_size);
}

ChunkedInput::ChunkedInput(std::string_view bytes, std::string name)
    : name_(std::move(name)), size_(bytes.size()), at_end_(true), window_(bytes) {}

ChunkedInput::~ChunkedInput() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::uint64_t> ChunkedInput::remaining() const {
  if (at_end_) return window_.size();
  if (!size_) return std::nullopt;
  // A file that grew since it was opened has at least what we already hold.
  return std::max<std::uint64_t>(*size_ - std::min(*size_, position_), window_.size());
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
    const ssize_t got = ::read(file_, buffer_.get() + held, capacity_ - held);
    if (got < 0 && errno != EINTR)
      throw input_error({.file = name_, .byte = static_cast<std::int64_t>(position_ + held)},
                        format("cannot read: {}", std::strerror(errno)));
    if (got == 0) at_end_ = true;
    window_ = {buffer_.get(), held + static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
}

}  // namespace nadi
