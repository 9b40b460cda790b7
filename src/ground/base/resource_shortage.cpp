#include "nadi/base/resource_shortage.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/units.h"

namespace nadi::inline ground {
namespace {

std::optional<std::int64_t> limit_of(int resource) {
  struct rlimit limit {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

// A number of the control group that this process is in, where it is seen at its root as in a container.
std::optional<std::int64_t> group_limit(const char* file) {
  std::ifstream in(std::string("/sys/fs/cgroup/") + file);
  std::int64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;  // "max" is no number
}

class LimitList {
 public:
  void counts(int resource, std::string_view what) {
    if (const auto limit = limit_of(resource)) add(format("{} {}", with_thousands(*limit), what));
  }
  void bytes(int resource, std::string_view what) {
    if (const auto limit = limit_of(resource)) add(format("{} {}", to_string(Bytes{*limit}), what));
  }
  void group_counts(const char* file, std::string_view what) {
    if (const auto limit = group_limit(file)) add(format("{} {}", with_thousands(*limit), what));
  }
  void group_bytes(const char* file, std::string_view what) {
    if (const auto limit = group_limit(file)) add(format("{} {}", to_string(Bytes{*limit}), what));
  }
  std::string text() const {
    return text_.empty() ? "no limit is set: the machine has no more" : "limits in effect: " + text_;
  }

 private:
  void add(const std::string& limit) { text_ += (text_.empty() ? "" : ", ") + limit; }

  std::string text_;
};

std::string memory_limits() {
  LimitList limits;
  limits.bytes(RLIMIT_AS, "of address space (ulimit -v)");
  limits.bytes(RLIMIT_DATA, "of data (ulimit -d)");
  limits.group_bytes("memory.max", "of memory for the control group (memory.max)");
  return limits.text();
}

std::string thread_limits() {
  LimitList limits;
  limits.counts(RLIMIT_NPROC, "processes and threads of this user (ulimit -u)");
  limits.bytes(RLIMIT_AS, "of address space (ulimit -v)");
  limits.group_counts("pids.max", "processes and threads of the control group (pids.max)");
  return limits.text();
}

std::string descriptor_limits() {
  LimitList limits;
  limits.counts(RLIMIT_NOFILE, "open files of a process (ulimit -n)");
  return limits.text();
}

}  // namespace

std::optional<Error> resource_shortage(int error_number, std::string_view wanted, Place place) {
  std::string limits;
  std::string hint;
  switch (error_number) {
    case EAGAIN:
      limits = thread_limits();
      hint = "raise the limit, or ask for fewer threads or processes";
      break;
    case ENOMEM:
      limits = memory_limits();
      hint = "raise the limit, or ask for less";
      break;
    case EMFILE:
      limits = descriptor_limits();
      hint = "raise the limit, or give fewer files at once";
      break;
    case ENFILE:
      limits = "the whole system has too many files open (fs.file-max)";
      break;
    default:
      return std::nullopt;
  }
  return Error{ErrorKind::kEnvironment, std::move(place),
               format("cannot {}: {}; {}", wanted, std::generic_category().message(error_number), limits),
               std::move(hint)};
}

Error memory_shortage() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return environment_error(format("out of memory: the program had up to {}, and gets no more; {}",
                                  to_string(Bytes{usage.ru_maxrss * 1024}), memory_limits()),
                           "raise the limit, or ask for less");
}

void start_thread(std::vector<std::thread>& threads, std::function<void()> work) {
  try {
    threads.emplace_back(std::move(work));
  } catch (const std::system_error& failure) {
    throw resource_shortage(failure.code().value(), format("start thread {}", threads.size() + 1))
        .value_or(environment_error(format("cannot start a thread: {}", failure.what())));
  }
}

void expect_memory(Bytes size) {
  const auto bytes = static_cast<std::size_t>(size.count());
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw memory_shortage();
  munmap(memory, bytes);
}

void expect_threads(int count) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  std::vector<std::thread> threads;
  const auto end_all = [&] {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  };
  try {
    threads.reserve(static_cast<std::size_t>(std::max(count, 0)));
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ends; });
      });
  } catch (const std::system_error& failure) {
    const std::size_t started = threads.size();
    end_all();
    throw resource_shortage(failure.code().value(), format("start {} threads, only {}", count, started))
        .value_or(environment_error(format("cannot start {} threads: {}", count, failure.what())));
  }
  end_all();
}

}  // namespace nadi::inline ground
