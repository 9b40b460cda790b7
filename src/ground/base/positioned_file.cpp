#include "nadi/base/positioned_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"

namespace nadi::inline ground {
namespace {

Error positioned_error(const std::filesystem::path& path, std::string_view action, int error_number) {
  if (const auto shortage = resource_shortage(error_number, action, {.file = path.string()}))
    return *shortage;
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::kEnvironment, {.file = path.string()}, format("cannot {}: {}", action, reason)};
}

// Room for the whole file, or only its size where the file system cannot reserve room.
int reserve(int descriptor, std::int64_t size) {
  if (size == 0) return 0;
  int failed = 0;
  do {
    failed = fallocate(descriptor, 0, 0, size) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == EOPNOTSUPP || failed == ENOSYS) failed = ftruncate(descriptor, size) == 0 ? 0 : errno;
  return failed;
}

}  // namespace

PositionedFile::PositionedFile(std::filesystem::path path, Bytes size) : path_(std::move(path)), size_(size) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw positioned_error(path_, "create the file", errno);
  if (const int failed = reserve(descriptor_, size_.count())) {
    ::close(descriptor_);
    ::unlink(path_.c_str());
    throw positioned_error(path_, format("reserve {} bytes", size_.count()), failed);
  }
}

PositionedFile::~PositionedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PositionedFile::close() {
  check(descriptor_ >= 0, "PositionedFile::close() called twice");
  // Some network file systems report only now that a write failed.
  if (::close(std::exchange(descriptor_, -1)) != 0) throw positioned_error(path_, "write", errno);
}

void PositionedFile::write_at(std::int64_t offset, std::string_view bytes) {
  write_at(offset, std::as_bytes(std::span(bytes)));
}

void PositionedFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  check(offset >= 0 && size <= size_.count() - offset, "a part of a PositionedFile lies outside of it");
  const Part part{.offset = offset, .size = size};
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw positioned_error(path_, "write", errno);
    if (written == 0) throw positioned_error(path_, "write", EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
  write_behind(part);
}

// sync_file_range and posix_fadvise are only wishes: the final sync meets the errors. A part that does not
// begin and end with a page shares pages with its neighbours; those pages are written twice, or stay.
void PositionedFile::write_behind(Part part) {
  sync_file_range(descriptor_, part.offset, part.size, SYNC_FILE_RANGE_WRITE);
  std::deque<Part> to_drop;
  {
    const std::lock_guard lock(mutex_);
    started_.push_back(part);
    unwritten_ += part.size;
    while (unwritten_ > kUnwritten.count()) {
      unwritten_ -= started_.front().size;
      to_drop.push_back(started_.front());
      started_.pop_front();
    }
  }
  for (const Part& old : to_drop) {
    sync_file_range(descriptor_, old.offset, old.size,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    posix_fadvise(descriptor_, old.offset, old.size, POSIX_FADV_DONTNEED);
  }
}

}  // namespace nadi::inline ground
