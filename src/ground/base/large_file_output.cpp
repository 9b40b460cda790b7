#include "nadi/base/large_file_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace nadi::inline ground {
namespace {

constexpr std::size_t kLargeBlock = std::size_t{8} << 20;  // ten milliseconds of a fast disk
constexpr std::int64_t kWindow = std::int64_t{16} << 20;   // dropped at a time

bool set_direct(int descriptor, bool on) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

void LargeFileOutput::Free::operator()(char* memory) const {
  std::free(memory);
}

LargeFileOutput::Block LargeFileOutput::make_block() {
  Block block(static_cast<char*>(std::aligned_alloc(kAlignment, kLargeBlock)));
  if (!block) throw std::bad_alloc();
  return block;
}

LargeFileOutput::LargeFileOutput(int descriptor, std::int64_t position)
    : filling_(make_block()),
      writing_(make_block()),
      descriptor_(descriptor),
      direct_(set_direct(descriptor, true)),
      position_(position),
      dropped_(position) {
  // The program's handlers are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LargeFileOutput::~LargeFileOutput() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

int LargeFileOutput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kLargeBlock - filled_);
    std::memcpy(filling_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes.remove_prefix(count);
    if (filled_ < kLargeBlock) continue;
    if (const int failed = hand_over()) return failed;
  }
  return 0;
}

// Waits for the block before.
int LargeFileOutput::hand_over() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return to_write_.empty(); });
  if (failed_ != 0) return failed_;
  std::swap(filling_, writing_);
  to_write_ = {writing_.get(), filled_};
  filled_ = 0;
  lock.unlock();
  changed_.notify_all();
  return 0;
}

int LargeFileOutput::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return to_write_.empty(); });
  return failed_;
}

void LargeFileOutput::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !to_write_.empty(); });
    if (to_write_.empty()) return;
    lock.unlock();
    const int failed = put(to_write_);
    lock.lock();
    failed_ = failed;
    to_write_ = {};
    changed_.notify_all();
  }
}

// A direct write may be refused only now (EINVAL), or end at a place from which no other can go on.
int LargeFileOutput::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL && direct_ && set_direct(descriptor_, false)) {
      direct_ = false;
      dropped_ = position_;
      continue;
    }
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    position_ += written;
    if (!direct_) drop_behind();
  }
  return 0;
}

// Starts to write the latest window back; the one before has had the time that the latest took to be made.
// Only wishes: the caller's sync meets the errors.
void LargeFileOutput::drop_behind() {
  while (position_ - dropped_ >= 2 * kWindow) {
    sync_file_range(descriptor_, dropped_ + kWindow, kWindow, SYNC_FILE_RANGE_WRITE);
    sync_file_range(descriptor_, dropped_, kWindow,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    posix_fadvise(descriptor_, dropped_, kWindow, POSIX_FADV_DONTNEED);
    dropped_ += kWindow;
  }
}

int LargeFileOutput::finish() {
  if (const int failed = wait()) return failed;
  // The last bytes do not fill a page.
  const std::size_t whole = filled_ - filled_ % kAlignment;
  if (const int failed = put({filling_.get(), whole})) return failed;
  if (direct_ && !set_direct(descriptor_, false)) return errno;
  direct_ = false;
  return put({filling_.get() + whole, filled_ - whole});
}

}  // namespace nadi::inline ground
