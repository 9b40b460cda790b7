#include "nadi/base/file_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "nadi/base/large_file_output.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kUnbuffered = std::size_t{1} << 16;  // pieces from this size on are not copied

}  // namespace

FileOutput::FileOutput(int descriptor) : descriptor_(descriptor) {}
FileOutput::FileOutput(FileOutput&& other) noexcept = default;
FileOutput::~FileOutput() = default;

int FileOutput::write(std::string_view bytes) {
  if (large_) return large_->write(bytes);
  const std::int64_t size = position_ + static_cast<std::int64_t>(buffer_.size() + bytes.size());
  if (size > kLargeFile.count()) {
    if (const int failed = become_large(bytes)) return failed;
    if (large_) return large_->write(bytes);
  }
  if (buffer_.empty() && bytes.size() >= kUnbuffered) return put(bytes);
  return collect(bytes);
}

int FileOutput::collect(std::string_view bytes) {
  buffer_.reserve(kBlock);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kBlock - buffer_.size());
    buffer_ += piece;
    bytes.remove_prefix(piece.size());
    if (buffer_.size() < kBlock) continue;
    if (const int failed = flush()) return failed;
  }
  return 0;
}

int FileOutput::flush() {
  const int failed = put(buffer_);
  buffer_.clear();
  return failed;
}

int FileOutput::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    position_ += written;
  }
  return 0;
}

// What follows must start at a multiple of the alignment, up to which the first of these bytes go. Where they
// are too few, the next ones will do.
int FileOutput::become_large(std::string_view& bytes) {
  constexpr std::size_t kAlignment = LargeFileOutput::kAlignment;
  const std::size_t beyond = (static_cast<std::size_t>(position_) + buffer_.size()) % kAlignment;
  const std::size_t missing = beyond == 0 ? 0 : kAlignment - beyond;
  if (bytes.size() < missing) return 0;
  if (const int failed = collect(bytes.substr(0, missing))) return failed;
  bytes.remove_prefix(missing);
  if (const int failed = flush()) return failed;
  buffer_.shrink_to_fit();
  sync_file_range(descriptor_, 0, position_, SYNC_FILE_RANGE_WRITE);  // finish() drops it
  try {
    large_ = std::make_unique<LargeFileOutput>(descriptor_, position_);
  } catch (const std::system_error& no_thread) {
    return no_thread.code().value();
  }
  return 0;
}

int FileOutput::finish() {
  if (!large_) return flush();
  const int failed = large_->finish();
  large_.reset();
  if (failed != 0) return failed;
  // Only wishes: the caller's sync meets the errors.
  sync_file_range(descriptor_, 0, 0,
                  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  return 0;
}

}  // namespace nadi::inline ground
