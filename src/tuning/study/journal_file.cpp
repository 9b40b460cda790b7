#include "nadi/study/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/base/resource_shortage.h"

namespace nadi::inline tuning {
namespace {

// The longest line: an operation with an attribute of that size. Longer ones are no journal.
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::size_t kFirstRead = std::size_t{64} << 10;
constexpr std::size_t kLargestRead = std::size_t{4} << 20;
// Results are waited for, but not more often than this; see sqlite_database.h.
constexpr std::chrono::milliseconds kJournalSyncInterval{50};

}  // namespace

JournalFile::JournalFile(std::filesystem::path path, StorageMode mode) : path_(std::move(path)), mode_(mode) {
  const FileKind kind = kind_of_file(path_);
  const bool is_taken =
      is_json(kind) || kind == FileKind::kUnknown || kind == FileKind::kEmpty || kind == FileKind::kText;
  if (!is_taken) throw WrongFileKind(path_.string(), kind, "a study");
  const int flags = mode == StorageMode::kRead ? O_RDONLY : O_RDWR | O_APPEND;
  descriptor_ = open(path_.c_str(), flags | O_CLOEXEC | (mode == StorageMode::kCreate ? O_CREAT : 0), 0666);
  if (descriptor_ < 0) {
    const int error_number = errno;
    if (error_number == ENOENT && mode != StorageMode::kCreate) throw no_such_file(path_.string());
    throw failed("cannot open", error_number);
  }
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw input_error({.file = path_.string()}, "a study must be a regular file");
  }
}

JournalFile::~JournalFile() {
  close(descriptor_);
}

Error JournalFile::failed(std::string_view what, int error_number) const {
  if (const auto shortage = resource_shortage(error_number, "open", {.file = path_.string()}))
    return *shortage;
  if (error_number == ENOSPC || error_number == EDQUOT)
    return Error(ErrorKind::kEnvironment, {.file = path_.string()}, "cannot write: the disk is full",
                 "make room and continue; the study is as it was before");
  return Error(ErrorKind::kEnvironment, {.file = path_.string()},
               format("{}: {}", what, std::generic_category().message(error_number)));
}

std::int64_t JournalFile::size() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) throw failed("cannot read", errno);
  if (status.st_nlink == 0)
    throw input_error({.file = path_.string()}, "the file was removed or replaced while it was in use");
  return status.st_size;
}

void JournalFile::read_new(const TakeLine& take) {
  // Not further than the file reaches now: others may append faster than this reads.
  const std::int64_t end = size();
  if (end < offset_)
    throw input_error({.file = path_.string(), .byte = end},
                      format("the file was cut while it was in use: {} bytes were read before", offset_));
  std::string buffer;
  std::int64_t position = offset_;  // of the buffer's first byte
  std::size_t piece = kFirstRead;
  while (position + static_cast<std::int64_t>(buffer.size()) < end) {
    const std::int64_t from = position + static_cast<std::int64_t>(buffer.size());
    const std::size_t before = buffer.size();
    buffer.resize(before + static_cast<std::size_t>(
                               std::min<std::int64_t>(end - from, static_cast<std::int64_t>(piece))));
    const ssize_t count = pread(descriptor_, buffer.data() + before, buffer.size() - before, from);
    if (count < 0 && errno == EINTR) {
      buffer.resize(before);
      continue;
    }
    if (count < 0) throw failed("cannot read", errno);
    buffer.resize(before + static_cast<std::size_t>(count));
    if (count == 0) break;
    piece = std::min(piece * 2, kLargestRead);
    std::size_t begin = 0;
    std::size_t search = before;  // no newline before it
    for (std::size_t newline; (newline = buffer.find('\n', search)) != std::string::npos;
         begin = search = newline + 1) {
      take(std::string_view(buffer).substr(begin, newline - begin), lines_ + 1);
      ++lines_;
      offset_ = position + static_cast<std::int64_t>(newline) + 1;
    }
    buffer.erase(0, begin);
    position += static_cast<std::int64_t>(begin);
    if (buffer.size() > kLongestLine)
      throw input_error({.file = path_.string(), .line = lines_ + 1},
                        format("a line is longer than {} MiB", kLongestLine >> 20));
  }
}

void JournalFile::append(std::string_view lines, bool wait_for_disk) {
  check(lines.ends_with('\n'), "a journal consists of whole lines");
  struct stat named {};
  struct stat opened {};
  if (stat(path_.c_str(), &named) != 0 || fstat(descriptor_, &opened) != 0 || named.st_ino != opened.st_ino ||
      named.st_dev != opened.st_dev)
    throw input_error({.file = path_.string()}, "the file was removed or replaced while it was in use");
  const std::int64_t torn = opened.st_size - offset_;
  check(torn >= 0, "a journal is appended to after it was read");
  if (torn > 0) {
    if (ftruncate(descriptor_, offset_) != 0) throw failed("cannot write", errno);
    bytes_cut_ += torn;
  }
  // Space for all of it, so that a full disk shows before others can read the first lines. Not every file
  // system can.
  if (fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, offset_, static_cast<off_t>(lines.size())) != 0 &&
      (errno == ENOSPC || errno == EDQUOT))
    throw failed("cannot write", errno);
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = write(descriptor_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    const int error_number = errno;
    // Half a line must not stay. If even that fails, the next writer cuts it off.
    [[maybe_unused]] const int result = ftruncate(descriptor_, offset_);
    throw failed("cannot write", error_number);
  }
  const auto now = std::chrono::steady_clock::now();
  if (!wait_for_disk || now - last_sync_ < kJournalSyncInterval) return;
  // The lines stay: others may have read them.
  if (fdatasync(descriptor_) != 0) throw failed("cannot write", errno);
  last_sync_ = std::chrono::steady_clock::now();
}

}  // namespace nadi::inline tuning
