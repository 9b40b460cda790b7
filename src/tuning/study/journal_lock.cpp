#include "nadi/study/journal_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <system_error>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/study/file_system_kind.h"

namespace nadi::inline tuning {
namespace {

// As Optuna's.
constexpr std::chrono::seconds kGrace{30};
constexpr std::chrono::microseconds kFirstPause{100};
constexpr std::chrono::microseconds kLongestPause{20000};
// Where the kernel's lock lies: behind every byte that a journal can have.
constexpr off_t kLockedByte = off_t{1} << 62;
// A link to ".//study.log" is one of ours: it leads to the journal, as Optuna's must (it asks for the time of
// what is behind the link), and no other program spells it so.
constexpr std::string_view kOurPrefix = ".//";
constexpr std::string_view kOurContent = "nadi\n";

void pause(std::chrono::microseconds& length) {
  std::this_thread::sleep_for(length);
  length = std::min(length * 2, kLongestPause);
}

}  // namespace

JournalFileLock::JournalFileLock(const std::filesystem::path& journal, int descriptor, JournalLock kind,
                                 std::chrono::milliseconds timeout)
    : journal_(journal),
      lock_(journal.string() + ".lock"),
      descriptor_(descriptor),
      kind_(kind),
      timeout_(timeout),
      is_local_(is_on_local_disk(journal)) {
  const Clock::time_point deadline = Clock::now() + timeout;
  if (is_local_) lock_in_kernel(deadline);
  try {
    std::chrono::microseconds length = kFirstPause;
    struct timespec seen {};
    Clock::time_point seen_at = Clock::now();
    while (!create()) {
      if (is_local_ && is_left_by_us()) {
        remove();
        continue;
      }
      struct stat status {};
      const bool is_there = stat(lock_.c_str(), &status) == 0 || lstat(lock_.c_str(), &status) == 0;
      if (is_there && (status.st_mtim.tv_sec != seen.tv_sec || status.st_mtim.tv_nsec != seen.tv_nsec)) {
        seen = status.st_mtim;
        seen_at = Clock::now();
      }
      if (is_there && Clock::now() - seen_at > kGrace) {
        remove();
        seen_at = Clock::now();
        continue;
      }
      if (Clock::now() >= deadline) throw timed_out();
      pause(length);
    }
  } catch (...) {
    unlock_in_kernel();
    throw;
  }
}

JournalFileLock::~JournalFileLock() {
  unlink(lock_.c_str());  // it is ours alone: one step, where remove() takes three
  unlock_in_kernel();
}

void JournalFileLock::lock_in_kernel(Clock::time_point deadline) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kLockedByte;
  range.l_len = 1;
  std::chrono::microseconds length = kFirstPause;
  // Locks the open file, not the process: two storages of one process exclude each other, too.
  while (fcntl(descriptor_, F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      is_local_ = false;  // a file system without such locks
      return;
    }
    if (Clock::now() >= deadline) throw timed_out();
    pause(length);
  }
}

void JournalFileLock::unlock_in_kernel() {
  if (!is_local_) return;
  struct flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kLockedByte;
  range.l_len = 1;
  fcntl(descriptor_, F_OFD_SETLK, &range);
}

// False if somebody else has it.
bool JournalFileLock::create() {
  if (kind_ == JournalLock::kSymbolicLink) {
    const std::string name = journal_.filename().string();
    const std::string target = is_local_ ? std::string(kOurPrefix) + name : name;
    if (symlink(target.c_str(), lock_.c_str()) == 0) return true;
  } else {
    const int file = open(lock_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) {
      // Failing to write it costs others the time of the grace, no more.
      if (is_local_) [[maybe_unused]]
        const ssize_t written = write(file, kOurContent.data(), kOurContent.size());
      close(file);
      return true;
    }
  }
  if (errno == EEXIST) return false;
  const int failed = errno;
  throw Error(ErrorKind::kEnvironment, {.file = lock_.string()},
              format("cannot lock the study: {}", std::generic_category().message(failed)));
}

bool JournalFileLock::is_left_by_us() const {
  std::array<char, 4096> bytes{};
  const ssize_t length = readlink(lock_.c_str(), bytes.data(), bytes.size());
  if (length > 0)
    return std::string_view(bytes.data(), static_cast<std::size_t>(length)).starts_with(kOurPrefix);
  const int file = open(lock_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  const ssize_t count = read(file, bytes.data(), kOurContent.size() + 1);
  close(file);
  return count > 0 && std::string_view(bytes.data(), static_cast<std::size_t>(count)) == kOurContent;
}

// Renamed first: of several that remove a lock at once, one has it.
void JournalFileLock::remove() {
  std::random_device random;
  const std::string aside = format("{}{:08x}{:08x}.rename", lock_.string(), random(), random());
  if (rename(lock_.c_str(), aside.c_str()) == 0) unlink(aside.c_str());
}

Error JournalFileLock::timed_out() const {
  return Error(ErrorKind::kEnvironment, {.file = journal_.string()},
               format("locked by another process for {:g} s", static_cast<double>(timeout_.count()) / 1e3),
               format("if no worker runs any more, remove {}", lock_.string()));
}

}  // namespace nadi::inline tuning
