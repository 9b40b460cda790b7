#include "nadi/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi {
namespace {

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return format("process {} on {}", getpid(), host.data());
}

Error lock_error(const std::filesystem::path& file, int error_number) {
  return {ErrorKind::kEnvironment,
          {.file = file.string()},
          format("cannot lock the folder: {}", std::generic_category().message(error_number))};
}

// Whether the open file is still the one with this name: its last owner may have removed it.
bool is_current(int descriptor, const std::filesystem::path& file) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) : file_(folder / kRunLockFile) {
  for (;;) {
    const int descriptor = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) throw lock_error(file_, errno);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      close(descriptor);
      if (reason == EINTR) continue;
      if (reason == ENOLCK || reason == EOPNOTSUPP || reason == ENOSYS) return;
      if (reason != EWOULDBLOCK) throw lock_error(file_, reason);
      std::string owner;
      std::ifstream in(file_);
      if (!std::getline(in, owner) || owner.empty()) owner = "another process";
      throw Error{ErrorKind::kEnvironment,
                  {.file = folder.string()},
                  format("another run saves its checkpoints here: {}", owner),
                  "wait for it, or choose another folder"};
    }
    if (!is_current(descriptor, file_)) {
      close(descriptor);
      continue;
    }
    const std::string name = own_name() + "\n";
    // Only for the message of others.
    if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, name.data(), name.size(), 0) < 0) errno = 0;
    descriptor_ = descriptor;
    return;
  }
}

RunLock::~RunLock() {
  if (descriptor_ < 0) return;
  unlink(file_.c_str());  // before the lock goes: afterwards it may be somebody else's
  close(descriptor_);
}

}  // namespace nadi
