#include "nadi/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/hidden_name.h"
#include "nadi/base/resource_shortage.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

// Tried before giving up: leftovers of killed programs take some.
constexpr std::size_t kTemporaryNames = 10'000;

constexpr std::string_view kFileExists = "the file exists";
constexpr std::string_view kFolderExists = "the folder exists";  // see atomic_folder.cpp

Error file_error(const fs::path& path, std::string_view action, int error_number) {
  if (const auto shortage = resource_shortage(error_number, action, {.file = path.string()}))
    return *shortage;
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::kEnvironment, {.file = path.string()}, format("cannot {}: {}", action, reason)};
}

Error exists_error(const fs::path& path) {
  return {ErrorKind::kUsage, {.file = path.string()}, std::string(kFileExists)};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

// Where a chain of symbolic links ends, whether or not something is there.
fs::path followed(const fs::path& link) {
  constexpr int kMaximumLinks = 40;  // as the kernel
  fs::path path = link;
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == kMaximumLinks) throw file_error(link, "write", ELOOP);
    const fs::path next = fs::read_symlink(path, error);
    if (error) throw file_error(link, "write", error.value());
    path = path.parent_path() / next;
  }
  return path;
}

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw file_error(folder, "create the folder", error.value());
}

// Opens a file of a new name in `folder` with the permissions the user's umask gives (mkstemp would make it
// private). O_EXCL decides between programs that try the same name.
std::pair<fs::path, int> create_temporary(const fs::path& folder, std::size_t number) {
  for (std::size_t attempt = 0; attempt < kTemporaryNames; ++attempt) {
    fs::path path = folder / hidden_name(std::to_string(number + attempt), kUnfinishedSuffix);
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return {std::move(path), descriptor};
    if (errno != EEXIST) throw file_error(folder, "create a file in this folder", errno);
  }
  throw file_error(folder, "create a file in this folder", EEXIST);
}

}  // namespace

AtomicFile::AtomicFile(fs::path target, Overwrite overwrite, std::size_t number)
    : target_(std::move(target)), overwrite_(overwrite) {
  if (!target_.has_filename()) throw file_error(target_, "write", EISDIR);
  struct stat existing {};
  bool keep_mode = false;
  if (lstat(target_.c_str(), &existing) == 0) {
    if (S_ISLNK(existing.st_mode) && overwrite_ == Overwrite::kAllow) {
      target_ = followed(target_);
      if (stat(target_.c_str(), &existing) != 0) existing = {};  // the link pointed nowhere
    }
    if (S_ISDIR(existing.st_mode)) throw file_error(target_, "write", EISDIR);
    if (overwrite_ == Overwrite::kRefuse) throw exists_error(target_);
    // Renaming over a device or a pipe would replace it (as root even /dev/null).
    if (existing.st_mode != 0 && !S_ISREG(existing.st_mode))
      throw Error{ErrorKind::kEnvironment, {.file = target_.string()}, "cannot write: not a regular file"};
    keep_mode = existing.st_mode != 0;
  } else if (errno != ENOENT) {
    throw file_error(target_, "write", errno);
  }
  create_folder(folder_of(target_));
  std::tie(temporary_, descriptor_) = create_temporary(folder_of(target_), number);
  output_.emplace(descriptor_);
  // Failing to keep the permissions of a file that belongs to somebody else is no reason to fail.
  if (keep_mode && fchmod(descriptor_, existing.st_mode & 0777) != 0) errno = 0;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      overwrite_(other.overwrite_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      output_(std::move(other.output_)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::write(std::string_view bytes) {
  check(descriptor_ >= 0, "AtomicFile::write() after close() or commit()");
  size_ += Bytes{static_cast<std::int64_t>(bytes.size())};
  if (const int failed = output_->write(bytes)) throw file_error(target_, "write", failed);
}

void AtomicFile::close(Durability durability) {
  check(descriptor_ >= 0, "AtomicFile::close() called twice");
  if (const int failed = output_->finish()) throw file_error(target_, "write", failed);
  output_.reset();
  switch (durability) {
    case Durability::kNow:
      if (fsync(descriptor_) != 0) throw file_error(target_, "write", errno);
      break;
    case Durability::kLater:
      // Only a wish: some file systems cannot, and the sync that follows does it in any case.
      sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
      break;
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) throw file_error(target_, "write", errno);
}

void AtomicFile::commit() {
  check(!temporary_.empty(), "AtomicFile::commit() called twice");
  if (descriptor_ < 0) return publish();
  close(Durability::kNow);
  publish();
  sync_folder(folder_of(target_));
}

// Gives the finished temporary its name.
void AtomicFile::publish() {
  if (overwrite_ == Overwrite::kAllow) {
    if (rename(temporary_.c_str(), target_.c_str()) != 0) throw file_error(target_, "write", errno);
  } else if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) throw exists_error(target_);
    if (errno != EINVAL && errno != ENOSYS) throw file_error(target_, "write", errno);
    // The file system cannot rename that way (NFS). link() never replaces either.
    if (link(temporary_.c_str(), target_.c_str()) != 0)
      throw errno == EEXIST ? exists_error(target_) : file_error(target_, "write", errno);
    unlink(temporary_.c_str());
  }
  temporary_.clear();
}

void AtomicFile::discard() noexcept {
  output_.reset();  // it may be writing to the descriptor
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void refuse_existing(const fs::path& path) {
  struct stat existing {};
  if (lstat(path.c_str(), &existing) == 0) throw exists_error(path);
}

bool is_existing_target(const Error& error) {
  return error.kind() == ErrorKind::kUsage &&
         (error.message() == kFileExists || error.message() == kFolderExists);
}

void sync_file_system(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return sync();  // a folder may be writable and not readable
  if (descriptor < 0) throw file_error(folder, "open the folder", errno);
  const int failed = syncfs(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failed != 0) throw file_error(folder, "sync the file system", failed);
}

void sync_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    // A folder may be writable and not readable; the file itself is already synced.
    if (errno == EACCES) return;
    throw file_error(folder, "open the folder", errno);
  }
  const int failed = fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // EINVAL: some network file systems cannot sync a folder, and do it themselves.
  if (failed != 0 && failed != EINVAL) throw file_error(folder, "sync the folder", failed);
}

void write_atomically(const fs::path& path, std::string_view bytes, Overwrite overwrite) {
  AtomicFile file(path, overwrite);
  file.write(bytes);
  file.commit();
}

}  // namespace nadi::inline ground
