// Preloaded into a program by checkpoint_kill_test.py: kills it by SIGKILL at a chosen system call on files
// below a folder, or after a chosen time; or lets that call fail. Variables of the environment:
//
// - NADI_DIE_FOLDER: an absolute path. Calls that change something below it count: write, pwrite, rename,
//   link, unlink, mkdir, rmdir and their variants.
// - NADI_DIE_AT: the number of the call to die at, from 1 on; 0: none. A write is done by half before.
// - NADI_DIE_WITH: an error number: the call fails with it, does nothing, and the program goes on. fsync and
//   fdatasync count, too.
// - NADI_DIE_AFTER: microseconds after the first such call to die at; 0: never.
// - NADI_DIE_REPORT: a file that gets the number of calls, and the microseconds from the first to the end.
// - NADI_DIE_STATES: a folder that gets a copy of NADI_DIE_FOLDER from before each call, and from the middle of each write:
//   what would be left if all ranks were killed there. They are named RANK.NUMBER and RANK.NUMBER.half; RANK is `launcher` outside of mpirun. Calls of all ranks
//   come one after the other (NADI_DIE_LOCK: a file beside it, which they lock), so that a copy is of one instant.
// - NADI_DIE_RANK: if it is set, only this rank of a job of mpirun is concerned.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

namespace {

const char* folder = nullptr;
long die_at = 0;
long die_after = 0;
int die_with = 0;
std::atomic<long> calls = 0;
timespec started{};
const char* states = nullptr;
int state_lock = -1;
std::recursive_mutex state_mutex;

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void* die_later(void*) {
  timespec time{};
  time.tv_sec = die_after / 1000000;
  time.tv_nsec = die_after % 1000000 * 1000;
  nanosleep(&time, nullptr);
  die();
}

long number_of(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

__attribute__((constructor)) void start() {
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* const wanted = getenv("NADI_DIE_RANK");
  if (wanted != nullptr && (rank == nullptr || std::strcmp(rank, wanted) != 0)) return;
  folder = getenv("NADI_DIE_FOLDER");
  if (folder == nullptr) return;
  die_at = number_of("NADI_DIE_AT");
  die_after = number_of("NADI_DIE_AFTER");
  die_with = static_cast<int>(number_of("NADI_DIE_WITH"));
  if ((states = getenv("NADI_DIE_STATES")) != nullptr)
    state_lock = open(getenv("NADI_DIE_LOCK"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

// While it lives no other call on the folder goes on, of this rank or another.
class Alone {
 public:
  Alone() {
    if (states == nullptr) return;
    state_mutex.lock();
    if (depth_++ == 0) flock(state_lock, LOCK_EX);
  }
  ~Alone() {
    if (states == nullptr) return;
    if (--depth_ == 0) flock(state_lock, LOCK_UN);
    state_mutex.unlock();
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  inline static int depth_ = 0;
};

void keep_state(const char* when) {
  if (states == nullptr) return;
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  const std::string name =
      std::string(states) + "/" + (rank == nullptr ? "launcher" : rank) + "." + std::to_string(calls) + when;
  std::filesystem::copy(
      folder, name, std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
}

// At the first call that counts: processes that only start others make none.
void start_clock() {
  clock_gettime(CLOCK_MONOTONIC, &started);
  pthread_t thread;
  if (die_after > 0) pthread_create(&thread, nullptr, die_later, nullptr);
}

__attribute__((destructor)) void report() {
  const char* const path = getenv("NADI_DIE_REPORT");
  if (folder == nullptr || path == nullptr || calls == 0) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long microseconds = (now.tv_sec - started.tv_sec) * 1000000 + (now.tv_nsec - started.tv_nsec) / 1000;
  folder = nullptr;  // what follows does not count
  if (std::FILE* const file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld %ld\n", calls.load(), microseconds);
    std::fclose(file);
  }
}

bool is_below(const char* path) {
  const std::size_t length = std::strlen(folder);
  return std::strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool descriptor_is_below(int descriptor) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return is_below(path);
}

bool name_is_below(int parent, const char* name) {
  if (name[0] == '/') return is_below(name);
  return parent != AT_FDCWD && descriptor_is_below(parent);
}

// Counts a call that is below the folder. Whether it is the one to die at.
bool is_the_last(bool below) {
  if (!below) return false;
  const long number = ++calls;
  if (number == 1) start_clock();
  keep_state("");
  return number == die_at;
}

// What the call gives that is the one to die at, if it is not the last of the program.
int end_here() {
  if (die_with == 0) die();
  errno = die_with;
  return -1;
}

// The function that this one stands in front of.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const call = real<ssize_t(int, const void*, size_t)>("write");
  if (folder == nullptr || !descriptor_is_below(descriptor)) return call(descriptor, bytes, size);
  const Alone alone;
  if (is_the_last(true)) {
    if (die_with != 0) return end_here();
    if (call(descriptor, bytes, size / 2) < 0) die();
    die();
  }
  if (states == nullptr || size < 2) return call(descriptor, bytes, size);
  const ssize_t half = call(descriptor, bytes, size / 2);
  if (half <= 0) return half;
  keep_state(".half");
  const ssize_t rest =
      call(descriptor, static_cast<const char*>(bytes) + half, size - static_cast<std::size_t>(half));
  return rest < 0 ? half : half + rest;
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  static auto* const call = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  if (folder == nullptr || !descriptor_is_below(descriptor)) return call(descriptor, bytes, size, offset);
  const Alone alone;
  if (is_the_last(true)) {
    if (die_with != 0) return end_here();
    if (call(descriptor, bytes, size / 2, offset) < 0) die();
    die();
  }
  if (states == nullptr || size < 2) return call(descriptor, bytes, size, offset);
  const ssize_t half = call(descriptor, bytes, size / 2, offset);
  if (half <= 0) return half;
  keep_state(".half");
  const ssize_t rest = call(descriptor, static_cast<const char*>(bytes) + half,
                            size - static_cast<std::size_t>(half), offset + half);
  return rest < 0 ? half : half + rest;
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite64(descriptor, bytes, size, offset);
}

int rename(const char* from, const char* to) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(AT_FDCWD, from) || name_is_below(AT_FDCWD, to)))
    return end_here();
  return real<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_parent, const char* from, int to_parent, const char* to, unsigned int flags) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(from_parent, from) || name_is_below(to_parent, to)))
    return end_here();
  return real<int(int, const char*, int, const char*, unsigned int)>("renameat2")(from_parent, from,
                                                                                  to_parent, to, flags);
}

int link(const char* from, const char* to) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(AT_FDCWD, to))) return end_here();
  return real<int(const char*, const char*)>("link")(from, to);
}

int unlink(const char* name) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(AT_FDCWD, name))) return end_here();
  return real<int(const char*)>("unlink")(name);
}

int unlinkat(int parent, const char* name, int flags) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(parent, name))) return end_here();
  return real<int(int, const char*, int)>("unlinkat")(parent, name, flags);
}

int mkdir(const char* name, mode_t mode) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(AT_FDCWD, name))) return end_here();
  return real<int(const char*, mode_t)>("mkdir")(name, mode);
}

int rmdir(const char* name) noexcept {
  const Alone alone;
  if (folder != nullptr && is_the_last(name_is_below(AT_FDCWD, name))) return end_here();
  return real<int(const char*)>("rmdir")(name);
}

int fsync(int descriptor) {
  if (folder != nullptr && die_with != 0 && is_the_last(descriptor_is_below(descriptor))) return end_here();
  return real<int(int)>("fsync")(descriptor);
}

int fdatasync(int descriptor) {
  if (folder != nullptr && die_with != 0 && is_the_last(descriptor_is_below(descriptor))) return end_here();
  return real<int(int)>("fdatasync")(descriptor);
}
}
