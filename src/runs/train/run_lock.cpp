#include "nadi/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline runs {
namespace {

constexpr std::string_view kOwnerPrefix = "process ";

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return format("{}{} on {}", kOwnerPrefix, getpid(), host.data());
}

Error lock_error(const std::filesystem::path& file, int error_number) {
  return {ErrorKind::kEnvironment,
          {.file = file.string()},
          format("cannot lock the folder: {}", std::generic_category().message(error_number))};
}

// Whether the open file is still the one with this name: its last owner may have removed it.
bool is_current(int descriptor, int folder) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && fstatat(folder, kRunLockFile, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

std::string contents_of(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

Error not_a_lock(const std::filesystem::path& file, std::string_view what) {
  return {ErrorKind::kEnvironment,
          {.file = file.string()},
          format("{} has the name of the lock of a run, and is left as it is", what),
          "move it away, or choose another folder"};
}

// Throws when the open file is not one that a run made.
void require_lock_file(int descriptor, const std::filesystem::path& file) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw lock_error(file, errno);
  if (!S_ISREG(status.st_mode)) throw not_a_lock(file, "something that is no file");
  if (status.st_nlink > 1) throw not_a_lock(file, "a hard link to another file");
  const std::string contents = contents_of(descriptor);
  if (!contents.empty() && !contents.starts_with(kOwnerPrefix)) throw not_a_lock(file, "another file");
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) {
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) throw lock_error(folder, errno);
  try {
    take(folder, folder / kRunLockFile);
  } catch (...) {
    close(folder_);
    throw;
  }
}

void RunLock::take(const std::filesystem::path& folder, const std::filesystem::path& file) {
  for (;;) {
    const int descriptor =
        openat(folder_, kRunLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == ELOOP) throw not_a_lock(file, "a symbolic link");
    if (descriptor < 0) throw lock_error(file, errno);
    descriptor_ = descriptor;
    const auto let_go = [&] { close(std::exchange(descriptor_, -1)); };
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      std::string owner = contents_of(descriptor);
      let_go();
      if (reason == EINTR) continue;
      if (reason == ENOLCK || reason == EOPNOTSUPP || reason == ENOSYS) return;
      if (reason != EWOULDBLOCK) throw lock_error(file, reason);
      owner = owner.substr(0, owner.find('\n'));
      if (owner.empty()) owner = "another process";
      throw Error{ErrorKind::kEnvironment,
                  {.file = folder.string()},
                  format("another run saves its checkpoints here: {}", owner),
                  "wait for it, or choose another folder"};
    }
    if (!is_current(descriptor, folder_)) {  // the one that removed it was the last owner
      let_go();
      continue;
    }
    try {
      require_lock_file(descriptor, file);
    } catch (...) {
      let_go();
      throw;
    }
    const std::string name = own_name() + "\n";
    // Only for the message of others.
    if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, name.data(), name.size(), 0) < 0) errno = 0;
    return;
  }
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) {
    unlinkat(folder_, kRunLockFile, 0);  // before the lock goes: afterwards it may be somebody else's
    close(descriptor_);
  }
  close(folder_);
}

}  // namespace nadi::inline runs
