#include "nadi/process/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/process/descriptor.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenRounds{10};
constexpr int kMostLooks = 10;

// Empty when there is no such file, or no such process any more: it may end between opening and reading,
// which streams answer with an exception.
std::string contents(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  while (file.is_open()) {
    const ssize_t size = read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return {};
    if (size == 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::vector<ProcessInfo> all_processes() {
  std::vector<ProcessInfo> processes;
  std::error_code failure;
  for (fs::directory_iterator entry("/proc", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    if (!read_number(name, pid)) continue;
    if (const auto info = process_info(pid)) processes.push_back(*info);
  }
  return processes;
}

// The number may have gone to another process since we looked. A descriptor is of one process for good: when
// that is still the one we saw, it is the one that gets the signal.
void kill_exactly(const ProcessInfo& process) {
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle.is_open() && errno != ENOSYS) return;
  const auto now = process_info(process.pid);
  if (!now || now->born != process.born) return;
  if (handle.is_open())
    syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  else
    kill(process.pid, SIGKILL);  // kernels before 5.3
}

// One round over `processes`. Returns how many of ours are left, and whether one was new.
struct Round {
  std::size_t left = 0;
  bool found_new = false;
};

enum class Among { kBelowUs, kMachine };

class Ender {
 public:
  Ender(const std::function<bool(const ProcessInfo&)>& ours, Among among) : ours_(ours), among_(among) {}

  Round round(const std::vector<ProcessInfo>& processes) {
    Round result;
    for (const ProcessInfo& process : processes) {
      const auto identity = std::pair(process.pid, process.born);
      if (!known_.contains(identity) && !ours_(process)) continue;
      if (known_.insert(identity).second) result.found_new = true;
      if (!process.ended) end(process);
      const bool own_child = process.parent == getpid();
      const bool forgotten = own_child && waitpid(process.pid, nullptr, WNOHANG) == process.pid;
      if (!forgotten && (own_child || !process.ended)) ++result.left;
    }
    return result;
  }

 private:
  // A process below us in a session that is not ours: one of those below us has begun it, and all that is in
  // it is theirs.
  void end(const ProcessInfo& process) const {
    kill_exactly(process);
    const bool begun_below = among_ == Among::kBelowUs && process.session > 0 && process.session != getsid(0);
    if (!begun_below || process.group <= 1) return;
    const auto leader = process_info(process.group);
    if (!leader || (leader->session == process.session && ours_(*leader))) kill(-process.group, SIGKILL);
  }

  const std::function<bool(const ProcessInfo&)>& ours_;
  Among among_;
  // Recognised in an earlier round: of a process that ends, the environment is gone first.
  std::set<std::pair<pid_t, decltype(ProcessInfo::born)>> known_;
};

std::size_t end_all(const std::function<bool(const ProcessInfo&)>& ours, std::chrono::milliseconds patience,
                    Among among) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  Ender ender(ours, among);
  for (;;) {
    const Round round = ender.round(among == Among::kBelowUs ? descendants_of(getpid()) : all_processes());
    if (round.left == 0 || std::chrono::steady_clock::now() >= deadline) return round.left;
    // What was new may have started more; what was known only needs time to go.
    if (!round.found_new) std::this_thread::sleep_for(kBetweenRounds);
  }
}

}  // namespace

// "12 (name) S 1 12 12 ...": the name may hold anything, so fields are counted from the last ')'.
std::optional<ProcessInfo> process_info(pid_t pid) {
  const std::string stat = contents(format("/proc/{}/stat", pid));
  const std::size_t name_begin = stat.find('('), name_end = stat.rfind(')');
  if (name_begin == std::string::npos || name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  ProcessInfo info{.pid = pid};
  char state = 0;
  fields >> state >> info.parent >> info.group >> info.session;
  constexpr int kFieldsBeforeStart = 15;  // from the terminal to the one before the start time: proc(5)
  std::string ignored;
  for (int i = 0; i < kFieldsBeforeStart; ++i) fields >> ignored;
  if (!(fields >> info.born)) return std::nullopt;
  info.ended = state == 'Z' || state == 'X';
  info.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
  return info;
}

std::vector<ProcessInfo> path_to(pid_t root, pid_t pid) {
  // A process on the way may end while we look, and its children have another parent then.
  for (int tries = 0; tries < kMostLooks; ++tries) {
    std::vector<ProcessInfo> path;
    pid_t at = pid;
    while (at > 1 && at != root) {
      auto info = process_info(at);
      if (!info) break;
      at = info->parent;
      path.push_back(std::move(*info));
    }
    if (at == root) return path;
    if (at <= 1 || path.empty()) break;
  }
  return {};
}

std::vector<ProcessInfo> descendants_of(pid_t root) {
  std::multimap<pid_t, ProcessInfo> by_parent;
  for (const ProcessInfo& info : all_processes()) by_parent.emplace(info.parent, info);
  std::vector<ProcessInfo> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second.pid);
    }
    by_parent.erase(first, last);
  }
  std::ranges::sort(found, {}, &ProcessInfo::pid);
  return found;
}

bool started_with(pid_t pid, std::string_view variable) {
  const std::size_t equals = variable.find('=');
  const auto value = started_with_value(pid, variable.substr(0, equals));
  return value && equals != std::string_view::npos && *value == variable.substr(equals + 1);
}

std::optional<std::string> started_with_value(pid_t pid, std::string_view name) {
  const std::string environment = contents(format("/proc/{}/environ", pid));
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    at = end + 1;
  }
  return std::nullopt;
}

bool shares_process_numbers(pid_t pid) {
  std::error_code error, own_error;
  const fs::path link = fs::read_symlink(format("/proc/{}/ns/pid", pid), error);
  return !error && link == fs::read_symlink("/proc/self/ns/pid", own_error) && !own_error;
}

Adoption::Adoption() {
  prctl(PR_GET_CHILD_SUBREAPER, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Adoption::~Adoption() {
  prctl(PR_SET_CHILD_SUBREAPER, before_);
}

std::size_t end_descendants(const std::function<bool(const ProcessInfo&)>& ours,
                            std::chrono::milliseconds patience) {
  return end_all(ours, patience, Among::kBelowUs);
}

std::size_t end_processes(const std::function<bool(const ProcessInfo&)>& ours,
                          std::chrono::milliseconds patience) {
  return end_all(ours, patience, Among::kMachine);
}

}  // namespace nadi::inline ground
