#include "nadi/launch/progress_meter.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "nadi/base/format.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::nanoseconds;

// Part of the time between two looks: less is the noise of threads that wait.
constexpr double kLeastShare = 0.005;

nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return nanoseconds(0);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// The kernel's numbers of the clocks of threads (linux/posix-timers.h): 4 is one thread's, 2 is the exact
// one.
clockid_t clock_of_thread(int thread) {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 4U | 2U);
}

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// rchar and wchar: what was read and written by calls, from wherever.
std::uint64_t moved_bytes(const std::string& folder) {
  std::ifstream in(folder + "/io");
  std::string name;
  std::uint64_t value = 0, sum = 0;
  while (in >> name >> value)
    if (name == "rchar:" || name == "wchar:") sum += value;
  return sum;
}

// The letter behind the name, which is in brackets and may hold anything.
char state_in(const std::string& stat_line) {
  const std::size_t end = stat_line.rfind(')');
  return end != std::string::npos && end + 2 < stat_line.size() ? stat_line[end + 2] : '\0';
}

std::string name_of_descriptor(std::uint64_t number) {
  std::array<char, 4096> target{};
  const ssize_t size = readlink(format("/proc/self/fd/{}", number).c_str(), target.data(), target.size() - 1);
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : format("file {}", number);
}

}  // namespace

ProgressMeter::ProgressMeter() : looked_(std::chrono::steady_clock::now()), before_(work_so_far()) {}

ProgressMeter::Work ProgressMeter::work_so_far() {
  Work work{.computed = read_clock(CLOCK_PROCESS_CPUTIME_ID)};
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return work;
  while (const dirent* entry = readdir(tasks)) {
    const std::string_view name = entry->d_name;
    int thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc{}) continue;
    const std::string folder = format("/proc/self/task/{}", thread);
    const std::string called = first_line(folder + "/comm");
    if (called == kWatchThread || called == kMpiThread || called.starts_with(kNcclThreads))
      work.computed -= read_clock(clock_of_thread(thread));
    else
      work.moved_bytes += moved_bytes(folder);
  }
  closedir(tasks);
  return work;
}

bool ProgressMeter::moved() {
  const auto now = std::chrono::steady_clock::now();
  const Work work = work_so_far();
  const std::chrono::duration<double> passed = now - looked_, computed = work.computed - before_.computed;
  const bool moved =
      work.moved_bytes != before_.moved_bytes || computed.count() > kLeastShare * passed.count();
  looked_ = now;
  before_ = work;
  return moved;
}

std::string ProgressMeter::blocked_in() const {
  if (held()) return "stands in a debugger";
  const std::string line = first_line(format("/proc/self/task/{}/syscall", getpid()));
  long call = -1;
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data(), end, call);
  if (error != std::errc{}) return "";  // "running", or we may not know
  const std::uint64_t first = after < end ? std::strtoull(after, nullptr, 16) : 0;
  switch (call) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
      if (first == STDOUT_FILENO) return "writes to standard output, which nobody reads";
      if (first == STDERR_FILENO) return "writes to standard error, which nobody reads";
      return format("writes to {}", name_of_descriptor(first));
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
      return format("reads {}", name_of_descriptor(first));
    case SYS_openat:
      return "opens a file, which does not come";
    case SYS_fsync:
    case SYS_fdatasync:
      return format("waits for the disk to have {}", name_of_descriptor(first));
    case SYS_flock:
    case SYS_fcntl:
      return format("waits for a lock on {}", name_of_descriptor(first));
    case SYS_futex:
      return "waits for another thread of its own";
    default:
      return format("stands in system call {}", call);
  }
}

bool ProgressMeter::held() const {
  return state_in(first_line(format("/proc/self/task/{}/stat", getpid()))) == 't';
}

bool ProgressMeter::at_disk() const {
  return state_in(first_line(format("/proc/self/task/{}/stat", getpid()))) == 'D';
}

nanoseconds computed_by(int pid) {
  clockid_t clock{};
  return clock_getcpuclockid(pid, &clock) == 0 ? read_clock(clock) : nanoseconds(0);
}

char process_state(int pid) {
  return state_in(first_line(format("/proc/{}/stat", pid)));
}

}  // namespace nadi::inline jobs
